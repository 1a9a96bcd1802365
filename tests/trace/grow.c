/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.c - a reader follows a trace of very many small chunks as it grows, and says how much memory
 * it needed.
 *
 *	grow CHUNKS STEP LIMIT_MIB
 *
 * A child process writes CHUNKS chunks, as a collector does that flushes four times a second, and
 * stops after each STEP of them until the reader has read them. The reader asks for the totals and
 * the tables each time. It fails if its memory exceeds LIMIT_MIB, or if in the end it does not
 * answer like a new reader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/compare_readers.h"
#include "trace/heap_sim.h"
#include "trace/write/writer.h"
#include "util/mono_clock.h"

#define NODES        300u
#define CHUNK_EVENTS 20

static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = "",
	.pid = 5};

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "grow: %s\n", what);
	exit(1);
}

static void must(int err, const char *what)
{
	if (err)
		fail(what);
}

/* A byte to the other process, or from it. */
static void put_turn(int fd)
{
	must(write(fd, "t", 1) != 1, "the other process is gone");
}

static void take_turn(int fd)
{
	char c;

	must(read(fd, &c, 1) != 1, "the other process is gone");
}

/* --- the writer --- */

static void add_chunk(struct hl_writer *w, struct hl_heap_sim *sim, long i)
{
	const struct hl_rss_sample rss = {sim->now_ns, 4096};
	struct hl_event e;

	for (int k = 0; k < CHUNK_EVENTS || sim->moved; k++) {
		hl_heap_sim_next(sim, &e);
		must(hl_writer_add_event(w, &e), "an event cannot be written");
	}
	if (i % 4 == 0)
		must(hl_writer_add_rss(w, &rss), "a sample cannot be written");
	must(hl_writer_flush(w), "a chunk cannot be written");
}

static void write_trace(const char *path, long chunks, long step, int from, int to)
{
	const struct hl_node node = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE};
	const struct hl_counters counters = {0};
	const struct hl_end end = {.kind = HL_END_EXIT};
	FILE *f = fopen(path, "w+e");
	struct hl_heap_sim sim;
	struct hl_writer *w;

	must(!f || hl_writer_open(&w, dup(fileno(f)), &meta), "the trace cannot be opened");
	fclose(f);
	must(hl_heap_sim_init(&sim, 3, NODES, 1, 1000), "out of memory");
	for (uint32_t i = 0; i < NODES; i++)
		must(hl_writer_add_node(w, &node), "a node cannot be written");
	must(hl_writer_add_thread(w, 1), "a thread cannot be written");
	for (long i = 0; i < chunks; i++) {
		add_chunk(w, &sim, i);
		if (i % step == 0) {
			put_turn(to);
			take_turn(from);
		}
	}
	must(hl_writer_end(w, &end, &counters), "the end cannot be written");
	hl_writer_close(w);
	close(to);
	exit(0);
}

/* --- the reader --- */

static unsigned long own_peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void ask(struct hl_reader *r)
{
	const struct hl_trace_info *info;
	uint32_t n;

	must(hl_reader_info(r, &info) || hl_reader_n_nodes(r, &n), "the reader fails");
	must(info->damaged, info->damage);
}

/* Returns the longest time that a refresh took. */
static uint64_t follow(struct hl_reader *r, int from, int to)
{
	struct hl_refreshed found;
	uint64_t longest = 0;
	char c;

	do {
		uint64_t began = hl_mono_ns();

		must(hl_reader_refresh(r, &found), hl_reader_error(r));
		ask(r);
		began = hl_mono_ns() - began;
		longest = began > longest ? began : longest;
		put_turn(to);
	} while (read(from, &c, 1) == 1);
	return longest;
}

/* Returns the peak of memory before the new reader, in KiB. */
static unsigned long finish(struct hl_reader *r, const char *path)
{
	unsigned long kib;

	struct hl_reader_refusal why;
	struct hl_refreshed found;
	struct hl_reader *fresh;
	const char *what;

	while (wait(NULL) > 0)
		;
	must(hl_reader_refresh(r, &found), hl_reader_error(r));
	ask(r);
	kib = own_peak_kib();
	must(hl_reader_open(&fresh, path, &why), why.text);
	what = hl_readers_differ(r, fresh);
	must(what != NULL, what);
	hl_reader_close(fresh);
	return kib;
}

int main(int argc, char **argv)
{
	int to_reader[2], to_writer[2];
	struct hl_reader_refusal why;
	struct hl_reader *r;
	char path[64];
	uint64_t longest;
	unsigned long kib;

	if (argc != 4)
		fail("usage: grow CHUNKS STEP LIMIT_MIB");
	snprintf(path, sizeof(path), "/tmp/hl-grow-%d.hlt", (int)getpid());
	must(pipe(to_reader) || pipe(to_writer), "no pipe");
	if (fork() == 0) {
		close(to_reader[0]);
		close(to_writer[1]);
		write_trace(path, atol(argv[1]), atol(argv[2]), to_writer[0], to_reader[1]);
	}
	close(to_reader[1]);
	close(to_writer[0]);
	take_turn(to_reader[0]);
	must(hl_reader_open(&r, path, &why), why.text);
	hl_reader_set_workers(r, 0);
	longest = follow(r, to_reader[0], to_writer[1]);
	kib = finish(r, path);
	printf("%zu chunks, peak of the reader %lu MiB, longest refresh %.1f ms\n",
		hl_reader_n_chunks(r), kib / 1024, (double)longest / 1e6);
	hl_reader_close(r);
	unlink(path);
	must(kib > 1024ul * strtoul(argv[3], NULL, 10),
		"the reader needs more memory than the limit");
	return 0;
}
