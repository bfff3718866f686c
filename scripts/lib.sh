# SPDX-License-Identifier: GPL-2.0
# Helpers that the scripts of this directory share; sourced, never run.
# shellcheck shell=bash

htw_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034	# used by the scripts that source this file
htw_top=${htw_scripts%/*}
htw_cache=${XDG_CACHE_HOME:-$HOME/.cache}/htwheel
htw_temps=()

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# Print the comment at the head of the running script: it is the help text.
usage() {
	awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"
}

bad_usage() {
	say "$*"
	usage >&2
	exit 2
}

# need GROUP COMMAND...: stop unless each command exists; GROUP is what brings them.
need() {
	local group=$1 cmd missing=()
	shift
	for cmd; do
		command -v "$cmd" >/dev/null || missing+=("$cmd")
	done
	[ ${#missing[@]} -eq 0 ] ||
		die "missing: ${missing[*]}; type: scripts/install-packages $group"
}

# remove_at_exit PATH: a trap removes it when the script ends, if it still exists.
remove_at_exit() {
	htw_temps+=("$1")
	trap remove_temps EXIT
}

# temp_dir VAR: a fresh directory, removed when the script ends.
temp_dir() {
	printf -v "$1" %s "$(mktemp -d "${TMPDIR:-/tmp}/htwheel.XXXXXXXX")"
	remove_at_exit "${!1}"
}

remove_temps() {
	[ ${#htw_temps[@]} -eq 0 ] || rm -rf "${htw_temps[@]}"
}

# lock NAME: one holder at a time, until the script ends.
lock() {
	local fd
	mkdir -p "$htw_cache/lock"
	exec {fd}>"$htw_cache/lock/$1"
	flock -n "$fd" && return
	say "waiting for another run ($1)"
	flock "$fd"
}

# A cache entry is a directory; its stamp is written last, before it gets its final name.
is_cached() {
	[ -e "$1/.stamp" ]
}

# new_entry VAR FINAL: VAR is an empty directory in which to make the cache entry FINAL.
new_entry() {
	printf -v "$1" %s "$2.tmp"
	rm -rf "$2.tmp"
	mkdir -p "$2.tmp"
	remove_at_exit "$2.tmp"
}

# commit_entry FINAL: publish what new_entry began.
commit_entry() {
	touch "$1.tmp/.stamp"
	rm -rf "$1"
	mv -T "$1.tmp" "$1"
}

# The newest finished entry below DIR, by the version in its name; empty if there is none.
newest_entry() {
	local candidate
	for candidate in "$1"/*/; do
		candidate=${candidate%/}
		[[ $candidate == *.tmp ]] || ! is_cached "$candidate" || printf '%s\n' "$candidate"
	done | sort -V | tail -n 1
}

# logged LOG TEXT COMMAND...: long work, with a line at both ends; its output goes to LOG.
logged() {
	local log=$1 text=$2 start=$SECONDS
	shift 2
	mkdir -p "${log%/*}"
	say "$text"
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 30 "$log" >&2
		die "failed after $((SECONDS - start)) s, full log in $log"
	fi
	say "done in $((SECONDS - start)) s"
}

# hash_of FILE...: a short key for their contents.
hash_of() {
	cat "$@" | sha256sum | cut -c 1-12
}

# kernel_release KDIR: what uname -r prints there (Debian's config/kernel.release does not say it).
kernel_release() {
	sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$1/include/generated/utsrelease.h" 2>/dev/null || true
}
