/*
 * calls.c - which function of the malloc family each stack called.
 *
 * Events know it, sums do not: a return address says where the call was, not of what. One call at
 * one place is nearly always of one function, so that of a stack's first allocation is taken. Chunk
 * summaries tell which chunks have a stack that is still looked for; a few chunks name nearly all.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/model_internal.h"
#include "model/query.h"
#include "model/tree.h"
#include "trace/dump.h"

static bool wanted(const struct hl_model *m, const struct hl_answer *a, uint32_t node)
{
	return node < a->n_keys && a->values[node].blocks && !m->funcs[node];
}

/* Has the chunk an allocation of a stack that is looked for? -ENOENT: decode it and see. */
static int worth_it(struct hl_model *m, const struct hl_answer *a, size_t chunk,
	struct hl_summary *summary, bool *worth)
{
	int err = hl_reader_summary(m->reader, chunk, summary);

	*worth = err == -ENOENT || err == -EBADMSG;
	if (*worth)
		return 0;
	for (size_t i = 0; i < summary->n && !err && !*worth; i++)
		*worth = summary->rows[i].sums.alloc_blocks > 0 &&
			 wanted(m, a, summary->rows[i].node);
	return err;
}

static int take_chunk(struct hl_model *m, const struct hl_answer *a, size_t chunk,
	struct hl_chunk_events *c, uint32_t *missing)
{
	int err = hl_reader_decode(m->reader, chunk, c);

	if (err == -EBADMSG) {
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
		return 0;
	}
	for (size_t i = 0; i < c->n_events && !err; i++) {
		const struct hl_event *e = &c->events[i];

		if (e->op != HL_OP_ALLOC || e->node >= m->n_nodes || m->funcs[e->node])
			continue;
		*missing -= wanted(m, a, e->node);
		m->funcs[e->node] = (uint8_t)(e->func + 1);
	}
	return err;
}

int hl_model_find_calls(struct hl_model *m, const struct hl_answer *a)
{
	struct hl_chunk_events c = {0};
	struct hl_summary summary = {0};
	uint32_t missing = 0;
	int err = 0;

	if (!m->funcs)
		m->funcs = calloc((size_t)m->n_nodes + 1, 1);
	if (!m->funcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_keys; i++)
		missing += wanted(m, a, i);
	for (size_t i = 0; i < hl_reader_n_chunks(m->reader) && missing > 0 && !err; i++) {
		bool worth = false;

		if (hl_chunk_is_lost(m, i))
			continue;
		err = worth_it(m, a, i, &summary, &worth);
		if (!err && worth)
			err = take_chunk(m, a, i, &c, &missing);
	}
	hl_chunk_events_free(&c);
	hl_summary_free(&summary);
	return err;
}

const char *hl_call_name(unsigned func)
{
	switch (func) {
	case HL_FUNC_NEW:
		return "operator new";
	case HL_FUNC_NEW_ARRAY:
		return "operator new[]";
	default:
		return hl_func_name(func);
	}
}

/* The function as a frame; HL_NODE_NONE when it is not known. */
int hl_model_call_frame(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	unsigned func = node < m->n_nodes && m->funcs ? m->funcs[node] : 0;

	*frame = HL_NODE_NONE;
	if (func == 0 || func > HL_FUNC_COUNT)
		return 0;
	func--;
	if (!m->func_frames[func]) {
		struct hl_frame f = {.function = hl_call_name(func)};
		int err = hl_vec_push(&m->frames, f);

		if (err)
			return err;
		m->func_frames[func] = (uint32_t)m->frames.len;
	}
	*frame = m->func_frames[func] - 1;
	return 0;
}
