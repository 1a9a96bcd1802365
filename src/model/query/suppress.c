/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppress.c - suppressions of known blocks; see suppress.h.
 */
#include "model/query/suppress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/stack/tree.h"

struct rule {
	const char *pattern; /* a frame must match; NULL: any */
	const char *inner;   /* module of the innermost frame; NULL: any */
	const char *caller;  /* module of its caller; NULL: any */
	bool builtin; /* checks the innermost frames that are in runtime libraries only, so that no
			 other names are looked up */
	bool not_innermost;  /* the matching frame must not be the innermost one */
	size_t counter;      /* index of the counter in hl_suppressions.taken */
	char *owned_pattern; /* the pattern, if it was allocated */
	uint64_t calls;      /* a bit for each function of the malloc family that matches */
};

struct hl_suppressions {
	HL_VEC(struct rule) rules;
	HL_VEC(struct hl_suppressed) taken; /* counters; several rules may share one */
	uint32_t *memo; /* per node, the last for none: 1 + its rule; 0: not evaluated yet */
	bool is_copy;
};

/*
 * Built-in rules for memory that libc, libstdc++ and the loader keep to the end, whatever the
 * program does. Names are not anchored at the beginning where debug information has another name
 * (__GI_setlocale). Without debug information only exported names are known, so these are included.
 * Memory that a program must free is not here: a FILE, the result of getaddrinfo, what iconv_open
 * and newlocale return. The data behind the last two is here, so their own frame alone does not
 * match.
 */
static const struct {
	const char *what; /* NULL: as in the row above */
	const char *pattern, *inner, *caller;
	bool not_innermost;
} defaults[] = {
	{.what = "libc's buffers of stdio", .pattern = "_IO_file_doallocate$"},
	{.pattern = "_IO_wfile_doallocate$"},
	/* Allocated by an initialiser that has no name in a stripped library. It is recognized only
	 * by its caller, the loader. */
	{.what = "libstdc++'s emergency pool for exceptions",
		.inner = "/libstdc++.so",
		.caller = "/ld-linux"},
	{.pattern = "_GLOBAL__sub_I_eh_alloc"},
	/* Includes all of dlopen. */
	{.what = "the loader's own data", .inner = "/ld-linux"},
	{.pattern = "dlopen$"},
	{.pattern = "dlerror_run$"},
	{.what = "libc's data of users, groups and hosts", .pattern = "__nss_"},
	{.pattern = "^nss_"},
	{.pattern = "^_nss_"},
	{.pattern = "^getpw"},
	{.pattern = "^getgrnam"},
	{.pattern = "^getgrgid"},
	{.pattern = "^getgrent"},
	{.pattern = "^getspnam"},
	{.pattern = "^getspent"},
	{.pattern = "^getserv"},
	{.pattern = "^getproto"},
	{.pattern = "^gethostby"},
	{.pattern = "^getnetby"},
	{.pattern = "__resolv_con"},
	{.pattern = "__check_pf$"},
	{.what = "libc's locales and translations", .pattern = "setlocale$"},
	{.pattern = "newlocale$", .not_innermost = true},
	{.pattern = "_nl_"},
	{.pattern = "textdomain$"},
	{.pattern = "gettext$"},
	{.what = "libc's conversions of characters", .pattern = "gconv", .not_innermost = true},
	{.pattern = "__wcsmbs_"},
	{.what = "libc's time zone", .pattern = "__tz"},
	{.pattern = "tzset"},
	{.pattern = "localtime"},
	{.pattern = "mktime$"},
};

/* If what is NULL, the rule has the same counter as the rule before. */
static int add_rule(struct hl_suppressions *s, struct rule r, const char *what)
{
	struct hl_suppressed t = {.pattern = what};
	int err = what ? hl_vec_push(&s->taken, t) : 0;

	r.counter = s->taken.len - 1;
	if (!err)
		err = hl_vec_push(&s->rules, r);
	if (err)
		free(r.owned_pattern);
	return err;
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
		free(s->rules.data[i].owned_pattern);
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
				.caller = defaults[i].caller,
				.builtin = true,
				.not_innermost = defaults[i].not_innermost},
			defaults[i].what);
	return err;
}

/* A counter has the pattern of its first rule as its name, so the copy of that rule has it. */
static int copy_rules(const struct hl_suppressions *s, struct hl_suppressions *to)
{
	int err = 0;

	for (size_t i = 0; i < s->rules.len && !err; i++) {
		struct rule r = s->rules.data[i];
		bool first = i == 0 || s->rules.data[i - 1].counter != r.counter;
		const char *what = first ? s->taken.data[r.counter].pattern : NULL;

		if (r.owned_pattern) {
			r.pattern = r.owned_pattern = strdup(r.owned_pattern);
			what = r.owned_pattern;
		}
		err = s->rules.data[i].owned_pattern && !r.owned_pattern ? -ENOMEM
									 : add_rule(to, r, what);
	}
	return err;
}

int hl_suppressions_copy(const struct hl_suppressions *s, struct hl_suppressions **out)
{
	int err = hl_suppressions_new(out);

	if (!err)
		err = copy_rules(s, *out);
	if (!err) {
		(*out)->is_copy = true;
		return 0;
	}
	hl_suppressions_free(*out);
	*out = NULL;
	return err;
}

bool hl_suppressions_is_copy(const struct hl_suppressions *s)
{
	return s->is_copy;
}

static bool pattern_matches(const char *pattern, const char *text);

static int add_pattern(struct hl_suppressions *s, const char *pattern, size_t len)
{
	char *owned_pattern = strndup(pattern, len);
	struct rule r = {.pattern = owned_pattern, .owned_pattern = owned_pattern};

	for (unsigned i = 0; i < HL_FUNC_COUNT && owned_pattern; i++)
		r.calls |= (uint64_t)pattern_matches(owned_pattern, hl_called_function_name(i))
			   << i;
	return owned_pattern ? add_rule(s, r, owned_pattern) : -ENOMEM;
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

static bool piece_matches(const char *text, const char *piece, size_t len)
{
	return strncmp(text, piece, len) == 0;
}

static bool pattern_matches(const char *pattern, const char *text)
{
	bool anchored = pattern[0] == '^';

	if (!text)
		return false;
	pattern += anchored;
	for (;;) {
		size_t len = strcspn(pattern, "*$");
		bool at_end = pattern[len] == '$' && !pattern[len + 1];

		if (pattern[len] == '$' && !at_end)
			len += 1 + strcspn(pattern + len + 1, "*"); /* a $ inside is literal */
		for (; *text && !anchored; text++) {
			if (piece_matches(text, pattern, len) && (!at_end || !text[len]))
				break;
		}
		if (!piece_matches(text, pattern, len) || (at_end && text[len]))
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

static bool frame_matches(const struct rule *r, const struct hl_frame *f)
{
	return pattern_matches(r->pattern, f->function) ||
	       (!r->builtin && (pattern_matches(r->pattern, f->file) ||
				       pattern_matches(r->pattern, f->module)));
}

/* The path of a node's module, without looking up names; NULL: it has none. */
static const char *module_path(struct hl_model *m, uint32_t node)
{
	struct hl_module module;
	struct hl_node def;

	if (node == HL_NODE_NONE || hl_reader_node(m->reader, node, &def) ||
		def.module == HL_MODULE_NONE || hl_reader_module(m->reader, def.module, &module))
		return NULL;
	return module.path;
}

static bool is_runtime_library(const char *path)
{
	static const char *const parts[] = {"/libc.so", "/libc-2.", "/ld-linux", "/libpthread",
		"/libdl", "/libnss_", "/libresolv", "/libstdc++.so", "/gconv/"};

	for (size_t i = 0; path && i < HL_ARRAY_LEN(parts); i++) {
		if (strstr(path, parts[i]))
			return true;
	}
	return false;
}

const char *hl_runtime_module(const char *path)
{
	const char *name = strstr(path, "/gconv/");

	name = name ? name : strrchr(path, '/');
	return is_runtime_library(name) ? name : NULL;
}

static int node_matches(struct hl_model *m, const struct rule *r, uint32_t node, bool *holds)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(m, node, &refs, &n);

	*holds = false;
	while (!err && n-- > 0 && !*holds)
		*holds = frame_matches(r, hl_model_frame(m, refs[n].frame));
	return err;
}

static int stack_matches(struct hl_model *m, const struct rule *r, uint32_t node, bool *holds)
{
	uint32_t at = node;
	int err = 0;

	*holds = (!r->inner || pattern_matches(r->inner, module_path(m, node))) &&
		 (!r->caller || (node != HL_NODE_NONE &&
					pattern_matches(r->caller,
						module_path(m, hl_model_parent(m, node)))));
	if (!*holds || !r->pattern)
		return 0;
	*holds = false;
	do {
		if (r->builtin && !is_runtime_library(module_path(m, at)))
			break;
		if (!(r->not_innermost && at == node))
			err = node_matches(m, r, at, holds);
		at = at == HL_NODE_NONE ? at : hl_model_parent(m, at);
	} while (!err && !*holds && at != HL_NODE_NONE);
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

/* The first rule that matches the stack; the number of rules if none does. */
static int find_rule(struct hl_suppressions *s, struct hl_model *m, uint32_t node, uint32_t *rule)
{
	uint32_t *memo = &s->memo[node < m->n_nodes ? node : m->n_nodes];
	bool holds = false;
	int err = 0;

	*rule = 0;
	while (!*memo && !err && *rule < s->rules.len) {
		err = stack_matches(m, &s->rules.data[*rule], node, &holds);
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
	int err = find_rule(s, m, node, &rule);

	*taken = false;
	if (err)
		return err;
	for (uint32_t i = 0; i < rule && func < HL_FUNC_COUNT; i++) {
		if (s->rules.data[i].calls >> func & 1)
			rule = i;
	}
	*taken = rule < s->rules.len;
	if (*taken) {
		struct hl_value *sum = &s->taken.data[s->rules.data[rule].counter].value;

		hl_value_add(sum, v);
	}
	return 0;
}

struct hl_value hl_suppressions_total(const struct hl_suppressions *s)
{
	struct hl_value all = {0};

	for (size_t i = 0; s && i < s->taken.len; i++)
		hl_value_add(&all, &s->taken.data[i].value);
	return all;
}

const struct hl_suppressed *hl_suppressions_counts(const struct hl_suppressions *s, size_t *n)
{
	*n = s->taken.len;
	return s->taken.data;
}
