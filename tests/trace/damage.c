/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage.c - one small trace in every damaged form: each prefix, each flipped bit, chunks removed,
 * duplicated and swapped, and bytes changed with all checksums recomputed.
 *
 * The reader never crashes; it refuses the file or returns a part of the truth; chunks that were
 * not changed are exact; and damage is reported if and only if there is some.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "trace/format/format_internal.h"
#include "sample.h"
#include "truth.h"

static uint8_t *file;
static size_t size;
static struct sample_place places[SAMPLE_PLACES_MAX];
static size_t n_places;
static int fd;
static char path[32];
static unsigned long opens;

static void fail(const char *what, size_t where, const struct seen *s)
{
	fprintf(stderr,
		"%s (at %zu): refused %d (%s), damaged %d (%s), %zu chunks read, %zu not, %zu "
		"keyframes\n",
		what, where, s->refused, s->why, s->damaged, s->damage, s->good_chunks,
		s->bad_chunks, s->good_keyframes);
	exit(1);
}

#define CHECK(x, what, where, s)              \
	do {                                  \
		if (!(x))                     \
			fail(what, where, s); \
	} while (0)

static void make_trace(bool late, bool hurry)
{
	file = late ? sample_make_late(hurry, &size) : sample_make(hurry, &size);
	n_places = sample_places(file, size, places);
	fd = memfd_create("trace", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pwrite(fd, file, size, 0) != (ssize_t)size)
		exit(1);
}

static void write_file(const uint8_t *data, size_t len)
{
	if (pwrite(fd, data, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len) < 0)
		exit(1);
}

static const struct sample_place *place_of(size_t at)
{
	for (size_t i = 0; i < n_places; i++)
		if (at >= places[i].at && at < places[i].at + places[i].head.length)
			return &places[i];
	return NULL;
}

static size_t count_before(size_t end, uint16_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < n_places; i++)
		n += places[i].head.type == type && places[i].at + places[i].head.length <= end;
	return n;
}

/* A chunk of events, or of the base of a trace that begins late. */
static bool has_events(const struct sample_place *p)
{
	return p && (p->head.type == HL_CHUNK_EVENTS ||
			    (p->head.type == HL_CHUNK_LIVESET && p->head.flags & HL_CHUNK_BASE));
}

static size_t count_chunks_before(size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < n_places; i++)
		n += has_events(&places[i]) && places[i].at + places[i].head.length <= end;
	return n;
}

/* The base of a trace that begins late: UINT64_MAX events if it is not complete. */
static uint64_t events_of_base(const struct truth *t, size_t end)
{
	if (!t->info.meta.base.is_late)
		return 0;
	for (size_t i = 0; i < n_places; i++)
		if (places[i].head.type == HL_CHUNK_KEYFRAME &&
			places[i].head.flags & HL_CHUNK_BASE)
			return places[i].at + places[i].head.length <= end
				       ? t->info.meta.base.events
				       : UINT64_MAX;
	return UINT64_MAX;
}

/* META is there, but not all of the base that it announces. */
static bool lacks_base(const struct truth *t, size_t end)
{
	return count_before(end, HL_CHUNK_META) == 1 && events_of_base(t, end) == UINT64_MAX;
}

static size_t count_flags(uint16_t flag)
{
	size_t n = 0;

	for (size_t i = 0; i < n_places; i++)
		n += (places[i].head.flags & flag) != 0;
	return n;
}

static void check_prefixes(const struct truth *t)
{
	uint64_t events;
	struct seen s;

	for (size_t len = size; len-- > 0;) {
		bool edge = len == HL_FILE_HEADER_LEN, ended;

		if (ftruncate(fd, (off_t)len) < 0)
			exit(1);
		truth_compare(t, path, &s);
		opens++;
		CHECK(!s.wrong, s.wrong, len, &s);
		CHECK(s.refused == (len < HL_FILE_HEADER_LEN), "refused, or not", len, &s);
		if (s.refused)
			continue;
		events = events_of_base(t, len);
		if (events == UINT64_MAX)
			events = 0;
		for (size_t i = 0; i < n_places; i++) {
			edge |= places[i].at + places[i].head.length == len;
			if (places[i].at + places[i].head.length <= len)
				events += places[i].head.n_events;
		}
		ended = count_before(len, HL_CHUNK_END) == 1;
		CHECK(s.good_chunks == count_chunks_before(len), "chunks", len, &s);
		CHECK(s.good_keyframes == count_before(len, HL_CHUNK_KEYFRAME), "keyframes", len,
			&s);
		CHECK(s.has_end == ended, "the end", len, &s);
		CHECK(s.events == events, "events", len, &s);
		CHECK(s.damaged == (ended || !edge || lacks_base(t, len)), "damage", len, &s);
		CHECK(ended || s.end_kind == HL_END_LOST, "a lost end", len, &s);
	}
}

static void check_flip(const struct truth *t, size_t at)
{
	const struct sample_place *p = place_of(at);
	uint16_t type = p ? p->head.type : 0;
	struct seen s;

	truth_compare(t, path, &s);
	opens++;
	CHECK(!s.wrong, s.wrong, at, &s);
	CHECK(s.refused == (at < 8), "refused, or not", at, &s);
	if (s.refused)
		return;
	CHECK(s.damaged, "damage was not reported", at, &s);
	CHECK(s.good_chunks >= t->n_chunks - has_events(p), "chunks", at, &s);
	CHECK(s.good_keyframes == t->n_keyframes || type == HL_CHUNK_KEYFRAME, "keyframes", at, &s);
	CHECK(s.good_sets == 1 || type == HL_CHUNK_LIVESET, "live set", at, &s);
	CHECK(s.rss == t->n_rss || type == HL_CHUNK_RSS, "RSS", at, &s);
	CHECK(s.nodes == t->n_nodes || type == HL_CHUNK_TABLE, "nodes", at, &s);
	CHECK(s.has_end == (type != HL_CHUNK_END), "the end", at, &s);
	CHECK(s.events == t->info.totals.events, "events", at, &s);
	CHECK(s.lost_chunks <= 1, "more is lost than was hit", at, &s);
	if (type == HL_CHUNK_EVENTS && s.good_chunks < t->n_chunks)
		CHECK(s.lost_events == p->head.n_events && s.lost_exact, "lost events", at, &s);
	else
		CHECK(s.lost_events == 0, "lost events", at, &s);
}

static void check_bit_flips(const struct truth *t, unsigned stride)
{
	write_file(file, size);
	for (size_t bit = 0; bit < size * 8; bit += stride) {
		uint8_t b = file[bit / 8] ^ (uint8_t)(1u << bit % 8);

		if (pwrite(fd, &b, 1, (off_t)(bit / 8)) != 1)
			exit(1);
		check_flip(t, bit / 8);
		if (pwrite(fd, file + bit / 8, 1, (off_t)(bit / 8)) != 1)
			exit(1);
	}
}

/* The file with chunk i removed (0 copies), duplicated, or swapped with the next one. */
static void shuffle_chunks(const struct truth *t)
{
	uint8_t *other = malloc(2 * size);
	struct seen s;

	for (size_t i = 0; i < n_places; i++) {
		size_t at = places[i].at, len = places[i].head.length, next = at + len;

		memcpy(other, file, at);
		memcpy(other + at, file + next, size - next);
		write_file(other, size - len);
		truth_compare(t, path, &s);
		CHECK(!s.wrong && s.damaged, s.wrong ? s.wrong : "a chunk was taken out", i, &s);
		CHECK(s.good_chunks == t->n_chunks - has_events(&places[i]), "chunks", i, &s);
		memcpy(other, file, next);
		memcpy(other + next, file + at, size - at);
		write_file(other, size + len);
		truth_compare(t, path, &s);
		CHECK(!s.wrong && s.damaged, s.wrong ? s.wrong : "a chunk was doubled", i, &s);
		CHECK(s.good_chunks == t->n_chunks, "chunks", i, &s);
		if (i + 1 < n_places) {
			size_t len2 = places[i + 1].head.length;

			memcpy(other, file, size);
			memcpy(other + at, file + next, len2);
			memcpy(other + at + len2, file + at, len);
			write_file(other, size);
			truth_compare(t, path, &s);
			CHECK(!s.wrong && s.damaged, s.wrong ? s.wrong : "chunks changed places", i,
				&s);
		}
		opens += 3;
	}
	memcpy(other, file, size);
	memset(other + size, 'x', 100);
	write_file(other, size + 100);
	truth_compare(t, path, &s);
	CHECK(!s.wrong && s.damaged && s.good_chunks == t->n_chunks, "bytes after the end", size,
		&s);
	free(other);
}

static void forge_bytes(unsigned long rounds, uint64_t seed)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x40, 2};
	uint8_t *other = malloc(size);

	for (unsigned long i = 0; i < rounds; i++) {
		const struct sample_place *p;
		uint64_t r = hl_hash_u64(seed += HL_HASH_K);
		unsigned changes = 1 + (r & 3);

		memcpy(other, file, size);
		p = &places[(r >> 2) % n_places];
		for (unsigned k = 0; k < changes; k++) {
			size_t at;

			r = hl_hash_u64(seed += HL_HASH_K);
			at = p->at + 8 + (r >> 8) % (p->head.length - 8);
			if (r & 64) /* headers and directory get more tries than their length would
				       give them */
				at = p->at + 8 + (r >> 8) % 200 % (p->head.length - 8);
			other[at] = r & 128 ? (uint8_t)(r >> 48) : values[r & 7];
		}
		sample_forge(other + p->at, p->head.length);
		if (r & 1 << 20) /* without the index the reader relies on the headers */
			other[size - 1] ^= 1;
		write_file(other, size);
		read_all(path);
		opens++;
	}
	free(other);
}

static void check_memory(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%lu opens, at most %ld MiB\n", opens, u.ru_maxrss / 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(HL_SANITIZED) /* sanitizers keep freed memory */
	if (u.ru_maxrss > 64 * 1024) {
		fprintf(stderr, "more than 64 MiB of memory\n");
		exit(1);
	}
#endif
}

/* late: a trace that begins late. */
static void check_kind(bool late, unsigned stride, unsigned long rounds, uint64_t seed)
{
	struct truth t;

	make_trace(late, false);
	printf("a trace of %zu bytes, %zu chunks: %zu of events, %zu with a summary; %zu "
	       "keyframes, %zu full\n",
		size, n_places, count_chunks_before(size), count_flags(HL_CHUNK_HAS_SUMMARY),
		count_before(size, HL_CHUNK_KEYFRAME), count_flags(HL_CHUNK_FULL));
	truth_read(&t, path);
	check_prefixes(&t);
	check_bit_flips(&t, stride);
	shuffle_chunks(&t);
	forge_bytes(rounds / 2, seed);
	truth_free(&t);
	free(file);
	close(fd);
	make_trace(late, true);
	forge_bytes(rounds / 2, seed + 1);
	free(file);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned stride = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 20000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;

	check_kind(false, stride, rounds, seed);
	check_kind(true, stride, rounds, seed + 2);
	check_memory();
	return 0;
}
