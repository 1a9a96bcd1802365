/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_curve.c - live bytes over time for a plot that moves: any range of any trace at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/views/live/live_points.h"
#include "views/json/json.h"
#include "views/web/web_internal.h"

#define COLUMNS 1000

static const char *set_range(void *state, const char *value)
{
	struct hl_request_error why;

	return hl_request_set(&((struct hl_web_query *)state)->request, "range", value, &why)
		       ? "a range of times such as 1s..2.5s or 50%.."
		       : NULL;
}

const struct hl_opt hl_web_curve_rows[] = {
	{0, "width", "N", "at most this many columns, from 1 to 4096 (default 1000)",
		hl_web_set_width},
	{0, "range", "A..B", "only from A to B", set_range},
	{0},
};

int hl_web_finish_curve(struct hl_web_query *q)
{
	struct hl_notes notes = hl_web_notes(q);
	struct hl_request_error why = {0};
	int err = hl_request_set(&q->request, "timeline", NULL, &why);

	q->request.one_view = true;
	if (!q->request.columns)
		q->request.columns = COLUMNS;
	if (!err)
		err = hl_request_finish(&q->request, &notes, &why);
	if (err)
		snprintf(q->error, sizeof(q->error), "%s", why.text);
	return err;
}

/* The part of a range that a time is in, from 1 to `most`; 0 and most + 1 are before and after it.
 */
static uint64_t part_of(uint64_t ns, const struct hl_time_range *r, uint64_t most)
{
	if (ns < r->from_ns)
		return 0;
	if (ns > r->to_ns)
		return most + 1;
	return 1 + (uint64_t)((unsigned __int128)(ns - r->from_ns) * most /
			      (r->to_ns - r->from_ns + 1));
}

/* The highest sample in each part of the range; and the nearest ones before and after it, so that a
 * line has its ends. */
static void put_samples(struct hl_json *j, const struct hl_rss_sample *samples, size_t n,
	const struct hl_time_range *r, uint64_t most)
{
	uint64_t part = 0;
	size_t i = 0;

	while (i + 1 < n && samples[i + 1].time_ns < r->from_ns)
		i++;
	while (i < n && part <= most) {
		const struct hl_rss_sample *top = &samples[i];

		part = part_of(top->time_ns, r, most);
		while (++i < n && part <= most && part_of(samples[i].time_ns, r, most) == part)
			top = samples[i].rss_bytes > top->rss_bytes ? &samples[i] : top;
		hl_json_begin_object(j);
		hl_json_key_u64(j, "time_ns", top->time_ns);
		hl_json_key_u64(j, "bytes", top->rss_bytes);
		hl_json_end_object(j);
	}
}

static int put_resident(struct hl_json *j, struct hl_web_query *q, const struct hl_time_range *r)
{
	struct hl_rss_sample *samples = NULL;
	size_t n = 0;
	int err = hl_reader_rss(hl_model_reader(q->model->m), &samples, &n);

	hl_json_key(j, "resident");
	hl_json_begin_array(j);
	if (!err)
		put_samples(j, samples, n, r, q->request.columns);
	hl_json_end_array(j);
	free(samples);
	return err;
}

static int put_curve(struct hl_web_query *q, const struct hl_time_range *r)
{
	struct hl_live_point *points = calloc(q->request.columns, sizeof(*points));
	struct hl_row_limit rows;
	struct hl_json j;
	size_t n = 0;
	int err = points ? hl_live_points(q->model->m, r, points, q->request.columns, &n) : -ENOMEM;

	if (!err) {
		hl_row_limit_init(&rows, &q->request.budget);
		hl_json_init(&j, q->out);
		hl_json_begin_object(&j);
		hl_json_key_u64(&j, "schema", 1);
		err = hl_json_live_points(&j, q->model->m, r, points, n, &rows);
		if (!err)
			err = put_resident(&j, q, r);
		hl_json_end_object(&j);
		putc('\n', q->out);
	}
	free(points);
	return err;
}

/* The times of the request are checked as those of a timeline. */
static int find_range(struct hl_web_query *q, struct hl_time_range *r)
{
	struct hl_notes notes = hl_web_notes(q);
	struct hl_strbuf text = {0};
	struct hl_request_error why;
	struct hl_plan *p;
	int err = hl_plan_new(&p, &q->request, q->model->m, &notes, &why);

	if (err) {
		snprintf(q->error, sizeof(q->error), "%s", why.text);
		return err;
	}
	*r = hl_time_range_all(q->model->m);
	if (!hl_plan_has_times(p, &text)) {
		snprintf(q->error, sizeof(q->error), "%s", hl_strbuf_str(&text));
		err = -EINVAL;
	} else if (q->request.ranged) {
		r->from_ns = hl_time_spec_ns(&q->request.from, q->model->m);
		r->to_ns = hl_min_u64(hl_time_spec_ns(&q->request.to, q->model->m), r->to_ns);
		r->from_ns = hl_min_u64(r->from_ns, r->to_ns);
	}
	hl_plan_free(p);
	hl_strbuf_fini(&text);
	return err;
}

int hl_web_run_curve(struct hl_web_query *q)
{
	struct hl_time_range r;
	int err = find_range(q, &r);

	return err ? err : put_curve(q, &r);
}
