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
	bool ours;      /* looks at the innermost frames that are in libraries, and asks for the
			   names of no others */
	bool beneath;   /* the frame that fits is not the one that allocates */
	size_t taken;   /* which of them it counts for */
	char *own;      /* the pattern, when it is not ours */
	uint64_t calls; /* a bit for each function of the malloc family that it fits */
};

struct hl_suppressions {
	HL_VEC(struct rule) rules;
	HL_VEC(struct hl_suppressed) taken; /* one for each thing that rules are about */
	uint32_t *memo; /* per node, the last for none: 1 + its rule; 0: not asked yet */
};

/*
 * Our own: what libc, libstdc++ and the loader keep to the end, whatever the program does. Names
 * are not anchored at their beginning where debug information gives them another (__GI_setlocale).
 * Without debug information only the exported ones are left, so these are among them. What a
 * program has to give back is not here: a FILE, the result of getaddrinfo, what iconv_open and
 * newlocale return; of the last two the data behind it is, so their own frame alone does not do.
 */
static const struct {
	const char *what; /* NULL: as above */
	const char *pattern, *inner, *caller;
	bool beneath;
} defaults[] = {
	{.what = "libc's buffers of stdio", .pattern = "_IO_file_doallocate$"},
	{.pattern = "_IO_wfile_doallocate$"},
	/* Made by an initialiser that has no name in a stripped library: that the loader called it
	 * is all there is to go by. */
	{.what = "libstdc++'s emergency pool for exceptions",
		.inner = "/libstdc++.so",
		.caller = "/ld-linux"},
	{.pattern = "_GLOBAL__sub_I_eh_alloc"},
	/* Also all of dlopen. */
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
	{.pattern = "newlocale$", .beneath = true},
	{.pattern = "_nl_"},
	{.pattern = "textdomain$"},
	{.pattern = "gettext$"},
	{.what = "libc's conversions of characters", .pattern = "gconv", .beneath = true},
	{.pattern = "__wcsmbs_"},
	{.what = "libc's time zone", .pattern = "__tz"},
	{.pattern = "tzset"},
	{.pattern = "localtime"},
	{.pattern = "mktime$"},
};

/* what NULL: counts for the same as the rule before. */
static int add_rule(struct hl_suppressions *s, struct rule r, const char *what)
{
	struct hl_suppressed t = {.pattern = what};
	int err = what ? hl_vec_push(&s->taken, t) : 0;

	r.taken = s->taken.len - 1;
	if (!err)
		err = hl_vec_push(&s->rules, r);
	if (err)
		free(r.own);
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
				.caller = defaults[i].caller,
				.ours = true,
				.beneath = defaults[i].beneath},
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
	return fits(r->pattern, f->function) ||
	       (!r->ours && (fits(r->pattern, f->file) || fits(r->pattern, f->module)));
}

/* The path of a node's module, without asking for names; NULL: it has none. */
static const char *module_of(struct hl_model *m, uint32_t node)
{
	struct hl_module module;
	struct hl_node def;

	if (node == HL_NODE_NONE || hl_reader_node(m->reader, node, &def) ||
		def.module == HL_MODULE_NONE || hl_reader_module(m->reader, def.module, &module))
		return NULL;
	return module.path;
}

static bool in_library(const char *path)
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
	return in_library(name) ? name : NULL;
}

static int node_fits(struct hl_model *m, const struct rule *r, uint32_t node, bool *holds)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(m, node, &refs, &n);

	*holds = false;
	while (!err && n-- > 0 && !*holds)
		*holds = frame_fits(r, hl_model_frame(m, refs[n].frame));
	return err;
}

static int stack_fits(struct hl_model *m, const struct rule *r, uint32_t node, bool *holds)
{
	uint32_t at = node;
	int err = 0;

	*holds = (!r->inner || fits(r->inner, module_of(m, node))) &&
		 (!r->caller || (node != HL_NODE_NONE &&
					fits(r->caller, module_of(m, hl_model_parent(m, node)))));
	if (!*holds || !r->pattern)
		return 0;
	*holds = false;
	do {
		if (r->ours && !in_library(module_of(m, at)))
			break;
		if (!(r->beneath && at == node))
			err = node_fits(m, r, at, holds);
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
		struct hl_value *sum = &s->taken.data[s->rules.data[rule].taken].value;

		sum->bytes += v->bytes;
		sum->blocks += v->blocks;
	}
	return 0;
}

const struct hl_suppressed *hl_suppressions_taken(const struct hl_suppressions *s, size_t *n)
{
	*n = s->taken.len;
	return s->taken.data;
}
