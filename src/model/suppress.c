/*
 * suppress.c - blocks at the end that nobody wants to see; see suppress.h.
 */
#include "model/suppress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"

struct rule {
	const char *pattern; /* a frame must fit; NULL: any */
	const char *inner;   /* the module of the innermost; NULL: any */
	const char *caller;  /* and that of the frame that called it */
	char *own;           /* the pattern, when it is not ours */
};

struct hl_suppressions {
	HL_VEC(struct rule) rules;
	HL_VEC(struct hl_suppressed) taken; /* one for each rule */
};

/*
 * Our own: what libc, libstdc++ and the loader keep to the end in every program. The pool is made
 * by an initialiser that has no name in a stripped library: that the loader called it is all there
 * is to go by.
 */
static const struct {
	const char *what, *pattern, *inner, *caller;
} defaults[] = {
	/* Not anchored: with debug information it is __GI__IO_file_doallocate. */
	{"libc's buffers of stdio", "_IO_file_doallocate$", NULL, NULL},
	{"libstdc++'s emergency pool for exceptions", NULL, "/libstdc++.so", "/ld-linux"},
	{"the loader's own data", NULL, "/ld-linux", NULL},
};

static int add_rule(struct hl_suppressions *s, struct rule r, const char *what)
{
	struct hl_suppressed t = {.pattern = what};

	if (hl_vec_push(&s->taken, t) || hl_vec_push(&s->rules, r)) {
		free(r.own);
		return -ENOMEM;
	}
	return 0;
}

int hl_suppressions_new(struct hl_suppressions **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void hl_suppressions_free(struct hl_suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rules.len; i++)
		free(s->rules.data[i].own);
	hl_vec_free(&s->rules);
	hl_vec_free(&s->taken);
	free(s);
}

int hl_suppressions_add_defaults(struct hl_suppressions *s)
{
	int err = 0;

	for (size_t i = 0; i < HL_ARRAY_LEN(defaults) && !err; i++)
		err = add_rule(s,
			(struct rule){.pattern = defaults[i].pattern,
				.inner = defaults[i].inner,
				.caller = defaults[i].caller},
			defaults[i].what);
	return err;
}

static int add_pattern(struct hl_suppressions *s, const char *pattern, size_t len)
{
	char *own = strndup(pattern, len);

	return own ? add_rule(s, (struct rule){.pattern = own, .own = own}, own) : -ENOMEM;
}

int hl_suppressions_add_text(struct hl_suppressions *s, const char *text, size_t *line)
{
	int err = 0;

	for (*line = 1; *text && !err; ++*line) {
		size_t all = strcspn(text, "\n"), skip = strspn(text, " \t"), len = all;

		while (len > 0 && strchr(" \t\r", text[len - 1]))
			len--;
		if (skip < len && text[skip] != '#') {
			if (len - skip <= 5 || memcmp(text + skip, "leak:", 5) != 0)
				return -EINVAL;
			err = add_pattern(s, text + skip + 5, len - skip - 5);
		}
		text += all + (text[all] == '\n');
	}
	return err;
}

/* --- LSan's patterns --- */

static bool piece_fits(const char *text, const char *piece, size_t len)
{
	return strncmp(text, piece, len) == 0;
}

static bool fits(const char *pattern, const char *text)
{
	bool anchored = pattern[0] == '^';

	if (!text)
		return false;
	pattern += anchored;
	for (;;) {
		size_t len = strcspn(pattern, "*$");
		bool at_end = pattern[len] == '$' && !pattern[len + 1];

		if (pattern[len] == '$' && !at_end)
			len += 1 + strcspn(pattern + len + 1, "*"); /* a $ inside is itself */
		for (; *text && !anchored; text++) {
			if (piece_fits(text, pattern, len) && (!at_end || !text[len]))
				break;
		}
		if (!piece_fits(text, pattern, len) || (at_end && text[len]))
			return false;
		text += len;
		pattern += len;
		if (*pattern != '*')
			return true;
		while (*pattern == '*')
			pattern++;
		anchored = false;
	}
}

static bool frame_fits(const struct rule *r, const struct hl_frame *f)
{
	return fits(r->pattern, f->function) || fits(r->pattern, f->file) ||
	       fits(r->pattern, f->module);
}

/* The module of a node; all its frames have the same. */
static int module_fits(struct hl_model *m, const char *pattern, uint32_t node, bool *holds)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = 0;

	*holds = !pattern;
	if (pattern && node != HL_NODE_NONE)
		err = hl_model_node_frames(m, node, &refs, &n);
	if (pattern && node != HL_NODE_NONE && !err)
		*holds = fits(pattern, hl_model_frame(m, refs[n - 1].frame)->module);
	return err;
}

static int stack_fits(struct hl_model *m, const struct rule *r, uint32_t node, bool *holds)
{
	uint32_t caller = node == HL_NODE_NONE ? node : hl_model_parent(m, node);
	int err = module_fits(m, r->inner, node, holds);

	if (!err && *holds)
		err = module_fits(m, r->caller, caller, holds);
	if (err || !*holds || !r->pattern)
		return err;
	*holds = false;
	do {
		const struct hl_frame_ref *refs;
		size_t n;

		err = hl_model_node_frames(m, node, &refs, &n);
		while (!err && n-- > 0 && !*holds)
			*holds = frame_fits(r, hl_model_frame(m, refs[n].frame));
		node = node == HL_NODE_NONE ? node : hl_model_parent(m, node);
	} while (!err && !*holds && node != HL_NODE_NONE);
	return err;
}

int hl_suppressions_apply(struct hl_suppressions *s, struct hl_model *m, struct hl_answer *a)
{
	int err = 0;

	for (size_t k = 0; k < s->taken.len; k++)
		s->taken.data[k].value = (struct hl_value){0};
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		struct hl_value *v = &a->values[i];
		bool holds = false;

		for (size_t k = 0; k < s->rules.len && v->blocks > 0 && !holds && !err; k++) {
			err = stack_fits(
				m, &s->rules.data[k], i < a->n_keys ? i : HL_NODE_NONE, &holds);
			if (err || !holds)
				continue;
			s->taken.data[k].value.bytes += v->bytes;
			s->taken.data[k].value.blocks += v->blocks;
			a->total.bytes -= v->bytes;
			a->total.blocks -= v->blocks;
			*v = (struct hl_value){0};
		}
	}
	return err;
}

const struct hl_suppressed *hl_suppressions_taken(const struct hl_suppressions *s, size_t *n)
{
	*n = s->taken.len;
	return s->taken.data;
}
