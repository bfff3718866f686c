# SPDX-License-Identifier: GPL-2.0
# TAP output for the tests of the scripts; sourced, never run.
# shellcheck shell=bash

tap_count=0
tap_failed=0

# tap_result 0|OTHER NAME: a result line; 0 passes.
tap_result() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		printf 'ok %d %s\n' "$tap_count" "$2"
	else
		printf 'not ok %d %s\n' "$tap_count" "$2"
		tap_failed=$((tap_failed + 1))
	fi
}

# tap_equal WANTED GOT NAME
tap_equal() {
	if [ "$1" = "$2" ]; then
		tap_result 0 "$3"
	else
		tap_result 1 "$3"
		printf 'wanted: %s\ngot: %s\n' "$1" "$2" | sed 's/^/# /'
	fi
}

# tap_skip NAME REASON
tap_skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# The plan comes last; the exit status says whether all passed.
tap_done() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
}
