// SPDX-License-Identifier: GPL-2.0
/*
 * Printing what came of runs, and judging it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "results.h"

static double ratio(uint64_t of, uint64_t by)
{
	return by ? (double)of / by : 0;
}

/* Nanoseconds of real time for an operation, its system call's share included. */
static double op_ns(const struct run *run)
{
	return ratio(run->submit_ns, run->arms + run->cancels);
}

static double fire_ns(const struct run *run)
{
	return ratio(run->advance_ns, run->fired);
}

static double late_ticks(const struct run *run, uint64_t late_ns)
{
	return ratio(late_ns, run->tick_ns);
}

void results_table(const struct run *runs, unsigned int nr)
{
	char text[ROW_TEXT];
	unsigned int i;

	printf("%-16s%9s%9s%9s%8s%10s%9s%9s%10s%10s%8s%8s\n", "DESIGN", "ARMED", "CANCELS", "FIRED",
	       "MOVES/", "SLOTS", "LARGEST", "WAKE-", "LATE MAX", "LATE AVG", "NS/OP", "NS/");
	printf("%-16s%9s%9s%9s%8s%10s%9s%9s%10s%10s%8s%8s\n", "", "", "", "", "TIMER", "VISITED",
	       "PASS", "UPS", "TICKS", "TICKS", "", "FIRE");
	for (i = 0; i < nr; i++) {
		rows_text(&runs[i].row, text);
		printf("%-16s%9" PRIu64 "%9" PRIu64 "%9" PRIu64 " %7.2f %9" PRIu64 "%9" PRIu64
		       "%9" PRIu64 " %9.2f %9.2f %7.0f %7.0f\n", text, runs[i].armed,
		       runs[i].cancels, runs[i].fired,
		       ratio(runs[i].moves, runs[i].armed), runs[i].slots, runs[i].largest,
		       runs[i].passes, late_ticks(&runs[i], runs[i].late_max_ns),
		       late_ticks(&runs[i], ratio(runs[i].late_sum_ns, runs[i].fired)),
		       op_ns(&runs[i]), fire_ns(&runs[i]));
	}
}

void results_json(const char *load, const struct run *runs, unsigned int nr)
{
	char shape[ROW_SHAPE];
	const struct run *run;

	printf("{\"load\":\"%s\",\"designs\":[", load);
	for (run = runs; run < runs + nr; run++) {
		rows_shape(&run->row, shape);
		printf("%s\n{\"name\":\"%s\",\"shape\":\"%s\",\"exact\":%s,\"tick_ns\":%" PRIu64
		       ",\"arms\":%" PRIu64 ",\"armed\":%" PRIu64 ",\"cancels\":%" PRIu64
		       ",\"late_ops\":%" PRIu64 ",\"fired\":%" PRIu64, run == runs ? "" : ",",
		       run->row.name, shape, run_is_exact(run) ? "true" : "false", run->tick_ns,
		       run->arms, run->armed, run->cancels, run->late_ops, run->fired);
		printf(",\"moves\":%" PRIu64 ",\"slots\":%" PRIu64 ",\"largest\":%" PRIu64
		       ",\"passes\":%" PRIu64 ",\"peak\":%" PRIu64, run->moves, run->slots,
		       run->largest, run->passes, run->peak);
		printf(",\"early\":%" PRIu64 ",\"beyond\":%" PRIu64 ",\"late_max_ns\":%" PRIu64
		       ",\"late_sum_ns\":%" PRIu64 ",\"submit_ns\":%" PRIu64 ",\"advance_ns\":%"
		       PRIu64 ",\"fire_set\":\"%016" PRIx64 "\"}", run->early, run->beyond,
		       run->late_max_ns, run->late_sum_ns, run->submit_ns, run->advance_ns,
		       run->sum);
	}
	puts("]}");
}

/* One picture of four charts, for gnuplot; the figures are in the script itself. */
static void plot_script(FILE *out, const char *output, const char *load, const struct run *runs,
			unsigned int nr)
{
	char text[ROW_TEXT];
	unsigned int i;

	fputs("$figures << END\n", out);
	for (i = 0; i < nr; i++) {
		rows_text(&runs[i].row, text);
		fprintf(out, "\"%s\" %f %f %f %f\n", text, ratio(runs[i].moves, runs[i].armed),
			(double)runs[i].largest, op_ns(&runs[i]), fire_ns(&runs[i]));
	}
	fprintf(out, "END\nset terminal svg size 1000,700 font 'sans,11'\n");
	if (output)
		fprintf(out, "set output '%s'\n", output);
	fprintf(out, "set multiplot layout 2,2 title 'htwheelctl compare --load %s'\n"
		     "set style fill solid 0.7\nset boxwidth 0.7\nset xtics rotate by -35\n"
		     "unset key\nset yrange [0:*]\nset grid ytics\n", load);
	fputs("set title 'moves a timer'\n"
	      "plot $figures using 2:xtic(1) with boxes lc rgb '#4477aa'\n"
	      "set title 'largest pass (timers)'\n"
	      "plot $figures using 3:xtic(1) with boxes lc rgb '#cc6677'\n"
	      "set title 'ns an operation, system call included'\n"
	      "plot $figures using 4:xtic(1) with boxes lc rgb '#228833'\n"
	      "set title 'ns an expiration'\n"
	      "plot $figures using 5:xtic(1) with boxes lc rgb '#ccbb44'\nunset multiplot\n", out);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

/*
 * .svg goes through gnuplot; everything else receives the script that would make it, - prints it.
 */
void results_plot(const char *path, const char *load, const struct run *runs, unsigned int nr)
{
	bool svg = ends_with(path, ".svg"), print = !strcmp(path, "-");
	FILE *out;
	int status;

	if (strchr(path, '\''))
		fail(EXIT_USAGE, "a quote in the name of a picture? %s", path);
	out = print ? stdout : svg ? popen("gnuplot", "w") : fopen(path, "w");
	if (!out)
		fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	plot_script(out, svg ? path : NULL, load, runs, nr);
	if (print)
		return;
	status = svg ? pclose(out) : fclose(out);
	if (status)
		fail(EXIT_USAGE, "%s was not written%s", path, svg ?
		     "; is gnuplot installed? --plot FILE.gp writes what it needs" : "");
}

static bool complain(const struct run *run, const char *what, const struct run *with)
{
	char text[ROW_TEXT], other[ROW_TEXT] = "";

	rows_text(&run->row, text);
	if (with)
		rows_text(&with->row, other);
	fprintf(stderr, "htwheelctl: %s %s%s\n", text, what, other);
	return false;
}

/* Never early, never later than promised, and all exact ones alike. */
bool results_judge(const struct run *runs, unsigned int nr)
{
	const struct run *run, *exact = NULL;
	bool right = true;

	for (run = runs; run < runs + nr; run++) {
		if (run->early)
			right = complain(run, "fired before the deadline", NULL);
		if (run->beyond)
			right = complain(run, "fired later than it may", NULL);
		if (!run_is_exact(run))
			continue;
		if (exact && !run_agrees(run, exact))
			right = complain(run, "did not fire as did ", exact);
		exact = exact ? exact : run;
	}
	return right;
}
