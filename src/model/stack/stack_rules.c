/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rules.c - the kind of each frame of a trace; see stack_rules.h.
 */
#include "model/stack/stack_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stack/wrappers.h"

void hl_model_kinds_fini(struct hl_model *m)
{
	hl_vec_free(&m->kinds.of_frame);
	hl_vec_free(&m->kinds.wrappers);
	hl_vec_free(&m->kinds.was_met);
	hl_pair_map_fini(&m->kinds.wrapper_ids);
	free(m->kinds.site_nodes);
	free(m->kinds.site_callees);
	hl_vec_free(&m->kinds.path);
	m->kinds = (struct hl_frame_kinds){0};
}

void hl_model_set_stack_rules(struct hl_model *m, const struct hl_stack_rules *rules)
{
	if (!rules && !m->kinds.rules)
		return;
	hl_model_kinds_fini(m);
	m->kinds.rules = rules;
}

size_t hl_model_n_wrappers(const struct hl_model *m)
{
	return m->kinds.wrappers.len;
}

const char *hl_model_wrapper(const struct hl_model *m, size_t i)
{
	return m->kinds.wrappers.data[i];
}

bool hl_model_wrapper_was_met(const struct hl_model *m, size_t i)
{
	return m->kinds.was_met.data[i];
}

/* More names would distract from the report itself. */
#define NAMES_MAX 8

/* all: how many the trace has, if the stacks of the answer do not have all of them. */
static void put_rest(struct hl_strbuf *b, size_t left, size_t all)
{
	hl_strbuf_printf(b, " and %zu more", left);
	if (all)
		hl_strbuf_printf(b, "; --json lists all %zu of the trace", all);
	else
		hl_strbuf_puts(b, ", which --json lists");
}

void hl_model_put_wrappers(struct hl_strbuf *b, const struct hl_model *m)
{
	size_t n = 0, all = hl_model_n_wrappers(m);

	for (size_t i = 0; i < all; i++) {
		if (!hl_model_wrapper_was_met(m, i) || n++ >= NAMES_MAX)
			continue;
		hl_strbuf_puts(b, n > 1 ? ", " : "allocation wrappers seen through: ");
		hl_strbuf_puts(b, hl_model_wrapper(m, i));
	}
	if (n > NAMES_MAX)
		put_rest(b, n - NAMES_MAX, n < all ? all : 0);
	/* With --no-wrappers they are those that the user named. */
	if (n > 0)
		hl_strbuf_puts(b, m->kinds.rules && m->kinds.rules->no_wrappers
					  ? " (only those of --alloc-fn)"
					  : " (--no-wrappers)");
}

static bool is_named_wrapper(const struct hl_stack_rules *rules, const struct hl_frame *f)
{
	for (size_t i = 0; i < rules->n_wrappers; i++) {
		if (hl_pattern_matches(rules->wrappers[i], f->function))
			return true;
	}
	for (size_t i = 0; i < rules->n_addresses; i++) {
		if (hl_code_address_matches(&rules->addresses[i], f))
			return true;
	}
	return false;
}

static bool is_folded_by_request(const struct hl_stack_rules *rules, const struct hl_frame *f)
{
	for (size_t i = 0; i < rules->n_folds; i++) {
		if (hl_filter_frame(rules->folds[i], f))
			return true;
	}
	return false;
}

enum hl_frame_kind hl_model_frame_kind_by_rules(
	const struct hl_model *m, const struct hl_frame *f, bool *allocates)
{
	enum hl_frame_kind kind = hl_frame_kind_by_name(f, allocates);

	if (!m->kinds.rules)
		return kind;
	if (is_named_wrapper(m->kinds.rules, f))
		return HL_FRAME_WRAPPER;
	if (kind == HL_FRAME_PLUMBING || !is_folded_by_request(m->kinds.rules, f))
		return kind;
	*allocates = false;
	return HL_FRAME_PLUMBING;
}

/* The index of the wrapper that a frame belongs to, or HL_PAIR_MAP_NONE. Strings of frames are
 * interned. */
static uint32_t find_wrapper(const struct hl_frame_kinds *k, const struct hl_frame *f)
{
	return hl_pair_map_get(
		&k->wrapper_ids, (uintptr_t)hl_frame_function_name(f), (uintptr_t)f->module);
}

/* The name of a wrapper in lists, which the model owns. */
static int name_wrapper(struct hl_model *m, const struct hl_frame *f, const char **name)
{
	struct hl_strbuf text = {0};
	uint32_t id;
	int err;

	hl_put_function(&text, f);
	err = hl_strbuf_error(&text);
	if (!err)
		err = hl_string_table_add(&m->strings, hl_strbuf_str(&text), &id);
	if (!err)
		*name = hl_string_table_get(&m->strings, id);
	hl_strbuf_fini(&text);
	return err;
}

int hl_model_add_wrapper(struct hl_model *m, const struct hl_frame *f)
{
	struct hl_frame_kinds *k = &m->kinds;
	const char *name;
	uint32_t i = 0;
	int err;

	if (find_wrapper(k, f) != HL_PAIR_MAP_NONE)
		return 0;
	err = name_wrapper(m, f, &name);
	if (err)
		return err;
	while (i < k->wrappers.len && k->wrappers.data[i] != name)
		i++;
	if (i == k->wrappers.len &&
		(hl_vec_push(&k->wrappers, name) || hl_vec_push(&k->was_met, 0)))
		return -ENOMEM;
	return hl_pair_map_put(
		&k->wrapper_ids, (uintptr_t)hl_frame_function_name(f), (uintptr_t)f->module, i);
}

static int find_kind(struct hl_model *m, uint32_t frame, enum hl_frame_kind *kind)
{
	const struct hl_frame *f = hl_model_frame(m, frame);
	uint32_t wrapper = find_wrapper(&m->kinds, f);
	bool allocates;
	int err = 0;

	*kind = HL_FRAME_WRAPPER;
	if (wrapper == HL_PAIR_MAP_NONE)
		*kind = hl_model_frame_kind_by_rules(m, f, &allocates);
	if (*kind == HL_FRAME_WRAPPER && wrapper == HL_PAIR_MAP_NONE) {
		err = hl_model_add_wrapper(m, f);
		wrapper = find_wrapper(&m->kinds, f);
	}
	if (!err && *kind == HL_FRAME_WRAPPER)
		m->kinds.was_met.data[wrapper] = 1;
	return err;
}

int hl_model_frame_kind(struct hl_model *m, uint32_t frame, enum hl_frame_kind *kind)
{
	struct hl_frame_kinds *k = &m->kinds;
	int err = hl_model_find_wrappers(m);

	while (!err && k->of_frame.len <= frame)
		err = hl_vec_push(&k->of_frame, 0);
	if (err)
		return hl_model_fail(m, err);
	if (!k->of_frame.data[frame]) {
		err = find_kind(m, frame, kind);
		if (err)
			return hl_model_fail(m, err);
		k->of_frame.data[frame] = (uint8_t)(*kind + 1);
	}
	*kind = (enum hl_frame_kind)(k->of_frame.data[frame] - 1);
	return 0;
}

int hl_model_find_wrappers(struct hl_model *m)
{
	int err;

	if (m->kinds.has_wrappers || (m->kinds.rules && m->kinds.rules->no_wrappers))
		return 0;
	err = hl_wrappers_detect(m);
	if (err)
		return hl_model_fail(m, err);
	m->kinds.has_wrappers = true;
	return 0;
}
