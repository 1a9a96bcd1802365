/*
 * suppress.c - blocks at the end that nobody wants to see; see suppress.h.
 */
#include "model/suppress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/tree.h"

struct rule {
	const char *pattern; /* a frame must fit; NULL: any */
	const char *inner;   /* the module of the innermost; NULL: any */
	const char *caller;  /* and that of the frame that called it */
	char *own;           /* the pattern, when it is not ours */
	uint64_t calls;      /* a bit for each function of the malloc family that it fits */
};

struct hl_suppressions {
	HL_VEC(struct rule) rules;
	HL_VEC(struct hl_suppressed) taken; /* one for each rule */
	uint32_t *memo; /* per node, the last for none: 1 + its rule; 0: not asked yet */
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
	free(s->memo);
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

static bool fits(const char *pattern, const char *text);

static int add_pattern(struct hl_suppressions *s, const char *pattern, size_t len)
{
	char *own = strndup(pattern, len);
	struct rule r = {.pattern = own, .own = own};

	for (unsigned i = 0; i < HL_FUNC_COUNT && own; i++)
		r.calls |= (uint64_t)fits(own, hl_call_name(i)) << i;
	return own ? add_rule(s, r, own) : -ENOMEM;
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

int hl_suppressions_bind(struct hl_suppressions *s, struct hl_model *m)
{
	hl_suppressions_reset(s);
	free(s->memo);
	s->memo = calloc((size_t)m->n_nodes + 1, sizeof(*s->memo));
	return s->memo ? 0 : -ENOMEM;
}

void hl_suppressions_reset(struct hl_suppressions *s)
{
	for (size_t i = 0; i < s->taken.len; i++)
		s->taken.data[i].value = (struct hl_value){0};
}

bool hl_suppressions_need_calls(const struct hl_suppressions *s)
{
	bool any = false;

	for (size_t i = 0; i < s->rules.len; i++)
		any |= s->rules.data[i].calls != 0;
	return any;
}

/* The first rule that fits the stack; the number of rules: none. */
static int rule_of_stack(
	struct hl_suppressions *s, struct hl_model *m, uint32_t node, uint32_t *rule)
{
	uint32_t *memo = &s->memo[node < m->n_nodes ? node : m->n_nodes];
	bool holds = false;
	int err = 0;

	*rule = 0;
	while (!*memo && !err && *rule < s->rules.len) {
		err = stack_fits(m, &s->rules.data[*rule], node, &holds);
		if (err || holds)
			break;
		++*rule;
	}
	if (!*memo && !err)
		*memo = *rule + 1;
	*rule = *memo - 1;
	return err;
}

int hl_suppressions_take(struct hl_suppressions *s, struct hl_model *m, uint32_t node,
	unsigned func, const struct hl_value *v, bool *taken)
{
	uint32_t rule;
	int err = rule_of_stack(s, m, node, &rule);

	*taken = false;
	if (err)
		return err;
	for (uint32_t i = 0; i < rule && func < HL_FUNC_COUNT; i++) {
		if (s->rules.data[i].calls >> func & 1)
			rule = i;
	}
	*taken = rule < s->rules.len;
	if (*taken) {
		s->taken.data[rule].value.bytes += v->bytes;
		s->taken.data[rule].value.blocks += v->blocks;
	}
	return 0;
}

const struct hl_suppressed *hl_suppressions_taken(const struct hl_suppressions *s, size_t *n)
{
	*n = s->taken.len;
	return s->taken.data;
}
