/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read-trace.c - measures how long the reader takes to open a trace, read one keyframe and read
 * every event: in this thread alone, and with others that decode ahead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "trace/read/decode_ahead.h"

static double clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static void report(const char *what, double since, const struct hl_reader *r)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%-22s %9.2f ms, %9.2f MiB read in all, at most %ld MiB of memory\n", what,
		now_ms() - since, (double)hl_reader_bytes_read(r) / 1048576, u.ru_maxrss / 1024);
}

static int read_keyframe(struct hl_reader *r)
{
	size_t n = hl_reader_n_keyframes(r);
	struct hl_node_totals *nodes;
	uint32_t n_nodes;
	int err = hl_reader_n_nodes(r, &n_nodes);

	if (err || n == 0)
		return err;
	nodes = malloc(((size_t)n_nodes + 1) * sizeof(*nodes));
	err = nodes ? hl_reader_load_keyframe(r, n / 2, nodes, n_nodes) : -1;
	free(nodes);
	return err;
}

static int read_summaries(struct hl_reader *r, size_t *have)
{
	struct hl_summary s = {0};

	for (size_t i = 0; i < hl_reader_n_chunks(r); i++)
		*have += hl_reader_summary(r, i, &s) == 0;
	hl_summary_free(&s);
	return 0;
}

static int read_events(struct hl_reader *r, uint64_t *n)
{
	struct hl_chunk_events c = {0};
	int err = 0;

	for (size_t i = 0; i < hl_reader_n_chunks(r) && !err; i++) {
		err = hl_reader_decode(r, i, &c);
		*n += c.n_events;
	}
	hl_chunk_events_free(&c);
	return err;
}

/* Uses each event, as a scan does: reading events of another core takes time too. */
static int read_ahead(struct hl_reader *r, uint64_t *bytes)
{
	size_t n = hl_reader_n_chunks(r);
	struct hl_chunk_events c = {0};
	struct hl_decode_ahead ahead;
	unsigned want = HL_WANT_ALL;
	int err = 0;

	hl_decode_ahead_init(&ahead, r);
	for (size_t i = 0; i < n && !err; i++) {
		err = hl_decode_ahead_read(&ahead, i, n, &want, &c);
		for (size_t k = 0; k < c.n_events; k++)
			*bytes += c.events[k].bytes;
	}
	hl_decode_ahead_fini(&ahead);
	hl_chunk_events_free(&c);
	return err;
}

/* The same pass without and with other threads: CPU time, and the rate in wall time. */
static int compare_passes(struct hl_reader *r, uint64_t n_events)
{
	static const char *const names[] = {"a pass, alone", "a pass, ahead"};
	int err = 0;

	for (int i = 1; i >= 0 && !err; i--) {
		double cpu = now_ms(), wall = clock_ms(CLOCK_MONOTONIC);
		uint64_t bytes = 0;

		err = read_ahead(r, &bytes);
		wall = clock_ms(CLOCK_MONOTONIC) - wall;
		report(names[i], cpu, r);
		printf("%22s %9.1f million events a second\n", "", (double)n_events / wall / 1e3);
		hl_reader_set_workers(r, 0);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_reader *r;
	uint64_t n = 0;
	size_t have = 0;
	double t = now_ms();

	if (argc != 2) {
		fputs("usage: read-trace FILE\n", stderr);
		return 2;
	}
	if (hl_reader_open(&r, argv[1], &why) < 0) {
		fprintf(stderr, "read-trace: %s\n", why.text);
		return 3;
	}
	if (hl_reader_info(r, &info) < 0)
		return 3;
	report("open and info", t, r);
	t = now_ms();
	if (read_keyframe(r) < 0)
		return 3;
	report("tables and a keyframe", t, r);
	t = now_ms();
	read_summaries(r, &have);
	report("summaries", t, r);
	t = now_ms();
	if (read_events(r, &n) < 0) {
		fprintf(stderr, "read-trace: %s\n", hl_reader_error(r));
		return 3;
	}
	report("every event", t, r);
	printf("%llu events, %.2f ns each; %zu chunks, %zu with a summary; %zu keyframes\n",
		(unsigned long long)n, (now_ms() - t) * 1e6 / (double)(n ? n : 1),
		hl_reader_n_chunks(r), have, hl_reader_n_keyframes(r));
	if (compare_passes(r, n) < 0)
		return 3;
	if (info->damaged)
		printf("damage: %s\n", info->damage);
	hl_reader_close(r);
	return 0;
}
