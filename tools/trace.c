// SPDX-License-Identifier: GPL-2.0
/*
 * Reading and building traces.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "trace.h"

#define TRACE_MAGIC	"# htwheel trace 1"

void trace_add(struct trace *trace, struct trace_op op)
{
	if (trace->nr == trace->room) {
		trace->room = trace->room ? 2 * trace->room : 1024;
		trace->ops = realloc(trace->ops, trace->room * sizeof(*trace->ops));
		if (!trace->ops)
			fail(EXIT_DEVICE, "no memory for %zu operations", trace->room);
	}
	op.order = trace->nr;
	trace->ops[trace->nr++] = op;
}

static int compare_keys(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int compare_times(const void *left, const void *right)
{
	const struct trace_op *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Order by time if that is needed, and replace keys by their indices. */
void trace_finish(struct trace *trace)
{
	size_t i, nr = 0;
	uint64_t *found;

	for (i = 1; i < trace->nr && trace->ops[i - 1].time_ns <= trace->ops[i].time_ns; i++)
		;
	if (i < trace->nr)
		qsort(trace->ops, trace->nr, sizeof(*trace->ops), compare_times);
	trace->keys = calloc(trace->nr + 1, sizeof(*trace->keys));
	if (!trace->keys)
		fail(EXIT_DEVICE, "no memory for %zu keys", trace->nr);
	for (i = 0; i < trace->nr; i++)
		trace->keys[i] = trace->ops[i].key;
	qsort(trace->keys, trace->nr, sizeof(*trace->keys), compare_keys);
	for (i = 0; i < trace->nr; i++) {
		if (!nr || trace->keys[nr - 1] != trace->keys[i])
			trace->keys[nr++] = trace->keys[i];
	}
	trace->nr_keys = nr;
	for (i = 0; i < trace->nr; i++) {
		found = bsearch(&trace->ops[i].key, trace->keys, nr, sizeof(*trace->keys),
				compare_keys);
		trace->ops[i].key = found - trace->keys;
	}
}

void trace_free(struct trace *trace)
{
	free(trace->ops);
	free(trace->keys);
}

/* One line, and where it is, for what there is to say about it. */
struct line {
	const char	*path;
	unsigned int	number;
	char		*rest;
};

static void __attribute__((noreturn)) bad_line(const struct line *line, const char *what,
					       const char *word)
{
	fail(EXIT_USAGE, "%s, line %u: %s \"%s\"; htwheelctl replay --help shows the format",
	     line->path, line->number, what, word ? word : "");
}

static char *next_word(struct line *line)
{
	return strsep(&line->rest, " ");
}

static uint64_t parse_number(const struct line *line, const char *what, const char *word)
{
	uint64_t value;
	char *end;

	if (!word || *word < '0' || *word > '9')
		bad_line(line, what, word);
	errno = 0;
	value = strtoull(word, &end, 10);
	if (*end || errno)
		bad_line(line, what, word);
	return value;
}

static uint64_t parse_time(const struct line *line, const char *what, const char *word)
{
	uint64_t value = parse_number(line, what, word);

	if (value > HTWHEEL_NEVER_NS)
		bad_line(line, what, word);
	return value;
}

static void parse_option(const struct line *line, struct trace_op *op, const char *word)
{
	static const char *const policies[] = { "count", "skip", "burst", "delay" };

	if (!strncmp(word, "period=", 7)) {
		op->period_ns = parse_time(line, "no period:", word + 7);
		if (!op->period_ns)
			bad_line(line, "no period:", word);
		return;
	}
	if (!strncmp(word, "slack=", 6)) {
		op->slack_ns = parse_time(line, "no slack:", word + 6);
		return;
	}
	if (!strcmp(word, "keep")) {
		op->keep = 1;
		return;
	}
	for (op->policy = 0; op->policy < 4; op->policy++) {
		if (!strncmp(word, "policy=", 7) && !strcmp(word + 7, policies[op->policy]))
			return;
	}
	bad_line(line, "no such option:", word);
}

static void parse_op(struct trace *trace, struct line *line, struct trace_op *op, const char *verb)
{
	const char *word;

	op->key = parse_number(line, "no key:", next_word(line));
	if (!strcmp(verb, "cancel")) {
		op->kind = TRACE_CANCEL;
	} else {
		op->kind = !strcmp(verb, "arm") ? TRACE_ARM : TRACE_REARM;
		op->deadline_ns = parse_time(line, "no deadline:", next_word(line));
	}
	while ((word = next_word(line))) {
		if (op->kind != TRACE_ARM)
			bad_line(line, "too much:", word);
		parse_option(line, op, word);
	}
	if (op->policy && !op->period_ns)
		bad_line(line, "a policy without", "period=");
	trace_add(trace, *op);
}

/* Cut off what is no part of the operation, and make one blank of many. */
static void clean_line(char *text)
{
	char *from = text, *to = text;

	text[strcspn(text, "#\r\n")] = 0;
	for (; *from; from++) {
		if (*from != ' ' && *from != '\t')
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > text && to[-1] == ' ')
		to--;
	*to = 0;
}

static void parse_line(struct trace *trace, struct line *line, uint64_t *last_ns)
{
	struct trace_op op = { };
	const char *word, *verb;

	word = next_word(line);
	op.time_ns = parse_time(line, "no time:", word);
	if (op.time_ns < *last_ns)
		bad_line(line, "time goes back:", word);
	*last_ns = op.time_ns;
	verb = next_word(line);
	if (verb && (!strcmp(verb, "arm") || !strcmp(verb, "rearm") || !strcmp(verb, "cancel")))
		parse_op(trace, line, &op, verb);
	else if (verb && !strcmp(verb, "end"))
		trace->end_ns = op.time_ns;
	else if (!verb || strcmp(verb, "fire"))
		bad_line(line, "no such operation:", verb);
}

/* Read a file, or standard input if it is "-"; ends the program if it is no trace. */
void trace_read(struct trace *trace, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	struct line line = { .path = path };
	uint64_t last_ns = 0;
	size_t size = 0;
	char *text = NULL;

	if (!file)
		fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	while (getline(&text, &size, file) > 0) {
		line.number++;
		if (line.number == 1 && strncmp(text, TRACE_MAGIC, strlen(TRACE_MAGIC)))
			fail(EXIT_USAGE, "%s is no trace; the first line of one is: %s", path,
			     TRACE_MAGIC);
		clean_line(text);
		line.rest = text;
		if (*text)
			parse_line(trace, &line, &last_ns);
	}
	if (!line.number)
		fail(EXIT_USAGE, "%s is empty", path);
	free(text);
	fclose(file);
	trace_finish(trace);
}
