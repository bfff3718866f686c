# SPDX-License-Identifier: GPL-2.0
# Makes the table of all results, in Markdown. Reads what scripts/bench-report makes of the lines of JSON: layer,
# guest, kernel, case, load, design, n, batch, samples, median, lowest, highest, note, operations of a sample, moves.

function figure(ns) {
	if (ns == "")
		return "-"
	return ns < 100 ? sprintf("%.1f", ns) : ns < 1e6 ? sprintf("%.0f", ns) : sprintf("%.2e", ns)
}

# A median of the queue layer; "" if there is none.
function queue(name, load, design, n) {
	return median["queue", "native", name, load, design, n]
}

# by() a / b, "" if one is missing.
function by(a, b) {
	return a == "" || b == "" || b == 0 ? "" : a / b
}

# target() a line of the table of targets. @sense is 1 if the figure has to be @bound at least, -1 at most, 0 if it is
# only to be seen.
function target(what, n, value, sense, bound, unit,	verdict, wanted) {
	if (value == "")
		return
	verdict = !sense ? "" : (sense > 0 ? value >= bound : value <= bound) ? "met" : "not met"
	wanted = !sense ? "" : (sense > 0 ? ">= " : "<= ") bound unit
	printf "| %s | %s | %.2f%s | %s | %s |\n", what, n, value, unit, wanted, verdict
}

function targets(	i, n, ours) {
	print "\n## Targets of the queue layer\n"
	print "*Ours* is the radix wheel, the load uniform over 1 to 120 s. Operations come to the engine in batches, and it"
	print "looks ahead in them; the others do one after the other. Lines without a target show like with like.\n"
	print "| what | timers | measured | target | |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= sizes; i++) {
		n = size[i]
		ours = queue("churn-batch", "uniform", "wheel", n)
		target("churn in batches, to the yardstick's churn", n, \
		       by(ours, queue("churn", "uniform", "yardstick", n)), -1, 0.75, "")
		target("churn one by one, to the yardstick's", n, by(queue("churn", "uniform", "wheel", n), \
		       queue("churn", "uniform", "yardstick", n)), 0)
		target("churn in batches, to the yardstick's in batches", n, \
		       by(ours, queue("churn-batch", "uniform", "yardstick", n)), 0)
		target("churn of the indexed heap, to ours in batches", n, \
		       by(queue("churn", "uniform", "heap", n), ours), 1, 3, "")
		target("churn of the indexed heap, to ours, both one by one", n, \
		       by(queue("churn", "uniform", "heap", n), queue("churn", "uniform", "wheel", n)), 0)
		target("churn of the tree, to ours in batches", n, \
		       by(queue("churn", "uniform", "rbtree", n), ours), 1, 20, "")
		target("churn of the tree, to ours, both one by one", n, \
		       by(queue("churn", "uniform", "rbtree", n), queue("churn", "uniform", "wheel", n)), 0)
		target("re-arm later: cancel and arm, to re-arm", n, \
		       by(queue("later-by-delete", "uniform", "wheel", n), \
			  queue("later", "uniform", "wheel", n)), 1, 2.5, "")
		target("expire over 10 s: the yardstick, to ours", n, \
		       by(queue("expire-spread", "due", "yardstick", n), \
			  queue("expire-spread", "due", "wheel", n)), 1, 5, "")
		target("storm, armed at random: the yardstick, to ours", n, \
		       by(queue("storm-random", "due", "yardstick", n), \
			  queue("storm-random", "due", "wheel", n)), 1, 5, "")
		target("jump over a day", n, queue("jump-day", "far", "wheel", n), -1, 50, " ns")
		target("next expiry", n, queue("next", "far", "wheel", n), -1, 50, " ns")
	}
	growth("churn", "one by one", 10000, 1000000, 4)
	growth("churn-batch", "in batches", 10000, 1000000, 4)
	growth("churn", "one by one", 1000000, 10000000, 2)
	growth("churn-batch", "in batches", 1000000, 10000000, 2)
}

function growth(name, how, from, to, bound) {
	target("churn " how ", growth", from " to " to, \
	       by(queue(name, "uniform", "wheel", to), queue(name, "uniform", "wheel", from)), -1, bound, "")
}

function published(what, wheel, heap, name, load,	ours, theirs) {
	ours = queue(name, load, "wheel", 100000)
	theirs = queue(name, load, "heap", 100000)
	printf "| %s | %d | %d | %.1f | %s | %s | %s |\n", what, wheel, heap, heap / wheel, figure(ours), figure(theirs), \
	       by(theirs, ours) == "" ? "-" : sprintf("%.1f", by(theirs, ours))
}

function seeds(	cell) {
	print "\n## Published figures, and ours\n"
	print "Three articles measured a wheel and a binary heap on other machines; so compare the ratios. Nanoseconds each."
	print "Ours: the radix wheel and the indexed heap, 100,000 timers, native.\n"
	print "| what | their wheel | their heap | ratio | our wheel | our heap | ratio |"
	print "|---|---|---|---|---|---|---|"
	published("insert at 100,000 live timers (armed at random)", 50, 800, "arm-random", "uniform")
	published("insert 30,000 in a batch (armed in address order)", 70, 187, "arm-address", "uniform")
	published("expire 100,000 due timers (a storm, armed at random)", 380, 520, "storm-random", "due")
	published("cancel 5,000 at random", 240, 760, "cancel-random", "uniform")
	cell = "queue" SUBSEP "native" SUBSEP "run-seeds" SUBSEP "seeds" SUBSEP "wheel" SUBSEP 30000
	if (cell in ops)
		printf "\n10,000 connections, 60 s: they say about 1.8 million expirations, and 1 to 2 moves a timer. Ours: %d, and " \
		       "%.2f moves for\neach expiration.\n", ops[cell], moves[cell] / ops[cell]
	cell = "queue" SUBSEP "native" SUBSEP "expire-spread" SUBSEP "due" SUBSEP "wheel" SUBSEP 100000
	if (cell in ops)
		printf "100,000 timers that expire over 10 s are moved %.2f times each.\n", moves[cell] / ops[cell]
}

# matrix() cases as columns, designs as rows, medians: of one layer, guest, load and n.
function matrix(group,	part, i, j, line, cell, names, shown) {
	split(group, part, SUBSEP)
	printf "\n### %s, %s%s, %s timers\n\n", part[1], part[2], part[3] == "" ? "" : ", " part[3], part[4]
	line = "| ns |"
	for (i = 1; i <= cases; i++)
		if ((group, case_name[i]) in has_case) {
			line = line " " case_name[i] " |"
			names = names "---|"
		}
	print line "\n|---|" names
	for (j = 1; j <= designs; j++) {
		line = "| " design[j] " |"
		shown = 0
		for (i = 1; i <= cases; i++)
			if ((group, case_name[i]) in has_case) {
				cell = part[1] SUBSEP part[2] SUBSEP case_name[i] SUBSEP part[3] SUBSEP design[j] SUBSEP part[4]
				line = line " " (cell in note ? note[cell] : figure(median[cell])) " |"
				shown += cell in seen
			}
		if (shown)
			print line
	}
}

BEGIN {
	FS = "\t"
}

{
	label = $6 ($1 != "queue" && $8 > 1 ? " (" $8 ")" : "")
	cell = $1 SUBSEP $2 SUBSEP $4 SUBSEP $5 SUBSEP label SUBSEP $7
	seen[cell] = 1
	if ($10 != "")
		median[cell] = $10
	if ($13 != "")
		note[cell] = $13
	if ($14 != "") {
		ops[cell] = $14
		moves[cell] = $15
	}
	group = $1 SUBSEP $2 SUBSEP $5 SUBSEP $7
	has_case[group, $4] = 1
	if (!(group in known_group)) {
		known_group[group] = 1
		group_name[++groups] = group
	}
	if (!($4 in known_case)) {
		known_case[$4] = 1
		case_name[++cases] = $4
	}
	if (!(label in known_design)) {
		known_design[label] = 1
		design[++designs] = label
	}
	if ($1 == "queue" && !($7 in known_size)) {
		known_size[$7] = 1
		size[++sizes] = $7
	}
	row[NR] = sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |", $1, $2, $3, $4, $5, $6, $7, $8, $9, \
			  $13 != "" ? $13 : figure($10), figure($11), figure($12))
}

END {
	print "# Measured\n"
	print "Medians of nanoseconds an operation; the spread, lowest to highest, is in the last table. Made by `make bench`."
	if (sizes) {
		targets()
		seeds()
	}
	print "\n## Side by side"
	for (i = 1; i <= groups; i++)
		matrix(group_name[i])
	print "\n## All rows\n"
	print "| layer | guest | kernel | case | load | design | n | batch | samples | median | low | high |"
	print "|---|---|---|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= NR; i++)
		print row[i]
}
