/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.h - a program counts its own heap operations and writes the counts to a file.
 *
 * Every allocation site is a separate function; its name is the key for comparing a report with
 * these counts. truth_write() writes them as JSON to the file named by $TRUTH, from a static buffer
 * with write(2): writing the counts must not change them. For C and C++.
 *
 * The peak is that of the program's own sites. It is at the same moment as the peak of the process
 * if no other code (libc, the loader) allocates or frees between the first and the last event of a
 * site; the programs ensure that by using no stdio and by starting all threads before the first
 * event.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRUTH_SITES   32
#define TRUTH_MOMENTS 16
/* Long enough that all clocks agree that nothing happened just now. */
#define TRUTH_QUIET_NS 2000000

/* A site: never inlined, and always on the stack while malloc runs (no tail call). */
#define TRUTH_SITE         __attribute__((noinline, noclone))
#define TRUTH_KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct truth_counts {
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};

struct truth_live {
	uint64_t blocks, bytes;
};

struct truth_moment {
	uint64_t unix_ns;
	struct truth_live live[TRUTH_SITES];
};

static struct {
	const char *program;
	const char *const *names; /* of the sites */
	unsigned n_sites;
	int fd;
	struct truth_counts sites[TRUTH_SITES];
	uint64_t live_bytes, peak_bytes;
	struct truth_live at_peak[TRUTH_SITES];
	const char *peak_kind;       /* "exact", "bounds" or "none" */
	uint64_t peak_min, peak_max; /* for "bounds" */
	unsigned n_moments;
	struct truth_moment moments[TRUTH_MOMENTS];
} truth;

static char truth_text[256 * 1024];
static size_t truth_len;

/* Call first: later the program may have changed its directory or used up its descriptors. */
static inline void truth_open(const char *program, const char *const *names, unsigned n)
{
	const char *path = getenv("TRUTH");

	truth.program = program;
	truth.names = names;
	truth.n_sites = n;
	truth.peak_kind = "none";
	truth.fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
}

static inline struct truth_live truth_live_of(unsigned site)
{
	const struct truth_counts *c = &truth.sites[site];
	struct truth_live live = {c->alloc_blocks - c->free_blocks, c->alloc_bytes - c->free_bytes};

	return live;
}

/* Call after each step: the earliest maximum counts, so only a larger value replaces it. */
static inline void truth_judge_peak(void)
{
	if (truth.live_bytes <= truth.peak_bytes)
		return;
	truth.peak_bytes = truth.live_bytes;
	for (unsigned i = 0; i < truth.n_sites; i++)
		truth.at_peak[i] = truth_live_of(i);
}

static inline void truth_count_alloc(unsigned site, size_t size)
{
	truth.sites[site].alloc_blocks++;
	truth.sites[site].alloc_bytes += size;
	truth.live_bytes += size;
}

static inline void truth_count_free(unsigned site, size_t size)
{
	truth.sites[site].free_blocks++;
	truth.sites[site].free_bytes += size;
	truth.live_bytes -= size;
}

static inline void truth_alloc(unsigned site, size_t size)
{
	truth_count_alloc(site, size);
	truth_judge_peak();
}

static inline void truth_free(unsigned site, size_t size)
{
	truth_count_free(site, size);
}

/* A realloc is one step: the peak never includes both blocks. */
static inline void truth_move(unsigned from, size_t old_size, unsigned to, size_t size)
{
	truth_count_free(from, old_size);
	truth_count_alloc(to, size);
	truth_judge_peak();
}

static inline void truth_rest(void)
{
	struct timespec ts = {0, TRUTH_QUIET_NS};

	nanosleep(&ts, NULL);
}

/* Records the live blocks; there must be no other event meanwhile. */
static inline void truth_take_moment(void)
{
	struct truth_moment *m = &truth.moments[truth.n_moments];
	struct timespec now;

	if (truth.n_moments == TRUTH_MOMENTS)
		return;
	truth_rest();
	clock_gettime(CLOCK_REALTIME, &now);
	m->unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (unsigned i = 0; i < truth.n_sites; i++)
		m->live[i] = truth_live_of(i);
	truth.n_moments++;
	truth_rest();
}

static inline void truth_put(const char *s)
{
	size_t n = strlen(s);

	if (n > sizeof(truth_text) - truth_len)
		abort();
	memcpy(truth_text + truth_len, s, n);
	truth_len += n;
}

static inline void truth_put_u64(uint64_t v)
{
	char buf[24];
	char *p = buf + sizeof(buf);

	*--p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	truth_put(p);
}

/* "name":value and the text after it */
static inline void truth_put_field(const char *name, uint64_t v, const char *after)
{
	truth_put("\"");
	truth_put(name);
	truth_put("\":");
	truth_put_u64(v);
	truth_put(after);
}

static inline void truth_put_site(unsigned i)
{
	const struct truth_counts *c = &truth.sites[i];

	truth_put(i ? ",\n\"" : "\n\"");
	truth_put(truth.names[i]);
	truth_put("\":{");
	truth_put_field("alloc_blocks", c->alloc_blocks, ",");
	truth_put_field("alloc_bytes", c->alloc_bytes, ",");
	truth_put_field("free_blocks", c->free_blocks, ",");
	truth_put_field("free_bytes", c->free_bytes, ",");
	truth_put_field("peak_blocks", truth.at_peak[i].blocks, ",");
	truth_put_field("peak_bytes", truth.at_peak[i].bytes, "}");
}

static inline void truth_put_moment(const struct truth_moment *m)
{
	truth_put(m == truth.moments ? "\n{" : ",\n{");
	truth_put_field("unix_ns", m->unix_ns, ",\"live\":{");
	for (unsigned i = 0; i < truth.n_sites; i++) {
		truth_put(i ? ",\"" : "\"");
		truth_put(truth.names[i]);
		truth_put("\":[");
		truth_put_u64(m->live[i].blocks);
		truth_put(",");
		truth_put_u64(m->live[i].bytes);
		truth_put("]");
	}
	truth_put("}}");
}

/* Call last. Does not allocate. */
static inline void truth_write(void)
{
	size_t done = 0;

	truth_put("{\"program\":\"");
	truth_put(truth.program);
	truth_put("\",\"peak\":\"");
	truth_put(truth.peak_kind);
	truth_put("\",");
	truth_put_field("peak_min", truth.peak_min, ",");
	truth_put_field("peak_max", truth.peak_max, ",");
	truth_put("\"sites\":{");
	for (unsigned i = 0; i < truth.n_sites; i++)
		truth_put_site(i);
	truth_put("},\n\"moments\":[");
	for (unsigned i = 0; i < truth.n_moments; i++)
		truth_put_moment(&truth.moments[i]);
	truth_put("]}\n");

	while (truth.fd >= 0 && done < truth_len) {
		ssize_t n = write(truth.fd, truth_text + done, truth_len - done);

		if (n <= 0)
			_exit(99); /* no file is better than half a file */
		done += (size_t)n;
	}
}

/* Random numbers that depend only on the seed (splitmix64). */
static inline uint64_t truth_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
