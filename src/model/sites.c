/*
 * sites.c - lifetimes and the course of time of each site; see sites.h.
 */
#include "model/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/life.h"
#include "model/model_internal.h"
#include "model/stream.h"

#define NO_ROW  UINT32_MAX
#define UNKNOWN (UINT32_MAX - 1)

struct stats {
	struct hl_model *m;
	size_t n;
	struct hl_map rows;     /* frame -> row */
	uint32_t *row_of;       /* per node, the last for none */
	uint64_t (*lives)[256]; /* per row: blocks by hl_life_class */
	struct hl_site_stat *out;
	uint64_t end_ns;
};

static int row_of(struct stats *s, uint32_t node, uint32_t *row)
{
	uint32_t at = node < s->m->n_nodes ? node : s->m->n_nodes, frame;
	int err = 0;

	if (s->row_of[at] == UNKNOWN) {
		err = hl_model_site(s->m, node, &frame);
		if (!err)
			s->row_of[at] = hl_map_get(&s->rows, frame, 0);
	}
	*row = s->row_of[at];
	return err;
}

/* The first point at or after a time; HL_SPARK_POINTS: none. Point k is at (k + 1) / n of the run.
 */
static unsigned point_after(const struct stats *s, uint64_t ns)
{
	unsigned __int128 scaled = (unsigned __int128)ns * HL_SPARK_POINTS;
	uint64_t k;

	if (s->end_ns == 0 || ns == 0)
		return 0;
	k = (uint64_t)((scaled + s->end_ns - 1) / s->end_ns);
	return k > HL_SPARK_POINTS ? HL_SPARK_POINTS : (unsigned)k - 1;
}

static void begin(void *arg)
{
	struct stats *s = arg;

	memset(s->out, 0, (s->n + 1) * sizeof(*s->out));
	memset(s->lives, 0, (s->n + 1) * sizeof(*s->lives));
}

/* Points hold differences until the end: a block is one step up and one step down. */
static int take(void *arg, const struct hl_block *b)
{
	struct stats *s = arg;
	struct hl_site_stat *out;
	uint32_t row;
	unsigned k;
	int err = row_of(s, b->node, &row);

	if (err || row == NO_ROW)
		return err;
	out = &s->out[row];
	k = point_after(s, b->birth_ns);
	if (k < HL_SPARK_POINTS)
		out->live[k] += b->bytes;
	if (b->death_ns == UINT64_MAX)
		return 0;
	k = point_after(s, b->death_ns);
	if (k < HL_SPARK_POINTS)
		out->live[k] -= b->bytes;
	out->freed += b->blocks;
	s->lives[row][hl_life_class(b->death_ns - b->birth_ns)] += b->blocks;
	return 0;
}

static void finish(struct stats *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct hl_site_stat *out = &s->out[i];
		uint64_t seen = 0;
		unsigned class = 0;

		for (unsigned k = 1; k < HL_SPARK_POINTS; k++)
			out->live[k] += out->live[k - 1];
		out->median_ns = UINT64_MAX;
		if (out->freed == 0)
			continue;
		while (class < 255 && (seen += s->lives[i][class]) * 2 < out->freed)
			class ++;
		out->median_ns = hl_life_class_ns((uint8_t) class);
	}
}

static int prepare(struct stats *s, const struct hl_table *t)
{
	int err = 0;

	s->row_of = malloc(((size_t)s->m->n_nodes + 1) * sizeof(*s->row_of));
	s->lives = malloc((s->n + 1) * sizeof(*s->lives));
	s->out = malloc((s->n + 1) * sizeof(*s->out));
	if (!s->row_of || !s->lives || !s->out)
		return -ENOMEM;
	for (size_t i = 0; i <= s->m->n_nodes; i++)
		s->row_of[i] = UNKNOWN;
	for (size_t i = 0; i < s->n && !err; i++)
		err = hl_map_put(&s->rows, t->rows[i].frame, 0, (uint32_t)i);
	return err;
}

int hl_sites_stats(struct hl_model *m, const struct hl_table *t, size_t n, struct hl_filter *filter,
	struct hl_site_stat **stats)
{
	struct stats s = {.m = m, .n = n < t->n ? n : t->n, .end_ns = hl_model_end_ns(m)};
	struct hl_stream stream = {.filter = filter,
		.from = {.sure = true},
		.to = hl_place_at(m, UINT64_MAX),
		.older = false,
		.to_end = true,
		.begin = begin,
		.block = take,
		.arg = &s};
	int err;

	if (hl_model_withholds(m))
		return hl_model_no_events(m, "how long the blocks of a site lived");
	err = prepare(&s, t);
	err = err ? hl_model_fail(m, err) : hl_stream_blocks(m, &stream);
	if (!err)
		finish(&s);
	free(s.row_of);
	free(s.lives);
	hl_map_fini(&s.rows);
	if (err)
		free(s.out);
	else
		*stats = s.out;
	return err;
}
