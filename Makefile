# SPDX-License-Identifier: GPL-2.0
# What a person types; the kernel's build system reads Kbuild instead. Everything that is made goes to build/,
# kernels and downloads to the user's cache (see scripts/lib.sh).

KDIR	?= /lib/modules/$(shell uname -r)/build
KERNEL	?= 6.1
PREFIX	?= /usr/local
FUZZ_SECONDS ?= 600

VERSION	:= $(shell cat VERSION)
export INSTALL_MOD_PATH INSTALL_MOD_DIR DESTDIR PREFIX QUICK

module: ## the module, for the kernel whose build directory is KDIR (default: the running one's)
	@scripts/build-module $(abspath $(KDIR))

tools: ## htwheelctl
	@scripts/install-packages build
	@$(MAKE) --no-print-directory -C tools

examples: ## the programs in examples/, into build/examples/
	@scripts/install-packages build
	@$(MAKE) --no-print-directory -C examples

demo: ## a million timers in a real kernel (KERNEL=6.1|6.12|7.3|uml); the main job
	@scripts/install-packages build qemu $(if $(filter uml%,$(KERNEL)),uml) $(if $(filter 7.3,$(KERNEL)),trixie)
	@scripts/demo $(KERNEL)

compare: ## the queue designs beside each other, with pictures (KERNEL=uml|6.1|6.12|7.3)
	@scripts/install-packages build plot $(if $(filter uml%,$(or $(filter-out 6.1,$(KERNEL)),uml)),uml,qemu)
	@scripts/compare $(if $(filter command line,$(origin KERNEL)),$(KERNEL),uml)

check: ## all tests; QUICK=1: only what takes three minutes (KUnit, userspace)
	@scripts/check $(if $(QUICK),--quick)

bench: ## measure: build/bench/results.md, and pictures (LAYER=queue|kernel|device, KERNEL=uml|..., FULL=1)
	@scripts/bench $(if $(LAYER),--layer $(LAYER)) $(if $(FULL),--full) \
		$(if $(filter command line,$(origin KERNEL)),--kernel $(KERNEL))

bench-check: ## have the queue designs more instructions than bench/instructions.tsv says? UPDATE=1 rewrites it
	@scripts/install-packages bench
	@bench/queue/instructions $(if $(UPDATE),--update,--check)

kunit: ## the KUnit suites in a user-mode kernel (KERNEL=uml|uml-debug)
	@scripts/check --part kunit-$(if $(filter uml%,$(KERNEL)),$(KERNEL),uml)

selftests: ## the tests of the device (KERNEL=6.1|6.12|7.3|uml|uml-debug)
	@scripts/check --part selftests-$(KERNEL)

fuzz: ## fuzz the queue designs (FUZZ_SECONDS=600), or run one input and print what it is (INPUT=file)
	@scripts/install-packages fuzz
	@selftests/fuzz/run $(if $(INPUT),$(INPUT),--seconds $(FUZZ_SECONDS))

prove: ## prove the arithmetic of the queue designs with a model checker, some minutes
	@scripts/install-packages prove
	@selftests/prove/run

lint: ## checkpatch, sparse, W=1, shellcheck, codespell, kernel-doc; silent if all is well
	@scripts/lint

install: module tools ## module, tool, header and page into the system (DESTDIR, INSTALL_MOD_PATH); loads nothing
	@scripts/install-host $(abspath $(KDIR))

uninstall: ## take out what install put in
	@scripts/install-host --uninstall $(abspath $(KDIR))

dkms: ## hand the module to DKMS, which builds it for each installed kernel; loads nothing
	@scripts/install-packages dkms
	@scripts/dkms-install

clean: ## remove build/
	rm -rf build

help: ## this list
	@echo 'htwheel $(VERSION). make TARGET:'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.DEFAULT_GOAL := module
.PHONY: module tools examples demo compare check bench bench-check kunit selftests fuzz prove lint install uninstall dkms clean help
