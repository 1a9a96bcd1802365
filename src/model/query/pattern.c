/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.c - matches names; see pattern.h.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/query/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hl_pattern {
	char *text; /* a substring or a glob */
	bool glob;
	pcre2_code *regex;
	pcre2_match_data *match;
};

static int compile_regex(
	struct hl_pattern *p, const char *s, size_t len, struct hl_pattern_error *error)
{
	PCRE2_SIZE at;
	int code;

	p->regex = pcre2_compile(
		(PCRE2_SPTR)s, len, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &at, NULL);
	if (!p->regex) {
		error->at = 1 + at;
		pcre2_get_error_message(code, (PCRE2_UCHAR *)error->text, sizeof(error->text));
		return -EINVAL;
	}
	pcre2_jit_compile(p->regex, PCRE2_JIT_COMPLETE); /* on failure only slower */
	p->match = pcre2_match_data_create_from_pattern(p->regex, NULL);
	return p->match ? 0 : -ENOMEM;
}

int hl_pattern_new(
	struct hl_pattern **out, const char *s, size_t len, struct hl_pattern_error *error)
{
	struct hl_pattern *p;
	int err;

	if (len == 0) {
		*error = (struct hl_pattern_error){.text = "expected a name or part of one"};
		return -EINVAL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (len >= 2 && s[0] == '/' && s[len - 1] == '/') {
		err = compile_regex(p, s + 1, len - 2, error);
	} else {
		p->text = strndup(s, len);
		p->glob = p->text && strpbrk(p->text, "*?");
		err = p->text ? 0 : -ENOMEM;
	}
	if (err)
		hl_pattern_free(p);
	else
		*out = p;
	return err;
}

void hl_pattern_free(struct hl_pattern *p)
{
	if (!p)
		return;
	pcre2_match_data_free(p->match);
	pcre2_code_free(p->regex);
	free(p->text);
	free(p);
}

bool hl_pattern_matches(const struct hl_pattern *p, const char *name)
{
	if (!name)
		return false;
	if (p->regex)
		return pcre2_match(
			       p->regex, (PCRE2_SPTR)name, strlen(name), 0, 0, p->match, NULL) >= 0;
	return p->glob ? fnmatch(p->text, name, FNM_NOESCAPE) == 0 : strstr(name, p->text) != NULL;
}

bool hl_pattern_matches_path(const struct hl_pattern *p, const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;

	return hl_pattern_matches(p, path) || (p->glob && base && hl_pattern_matches(p, base + 1));
}
