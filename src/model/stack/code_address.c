/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_address.c - see code_address.h.
 */
#include "model/stack/code_address.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* " [MODULE]"; the space may be missing. */
static int parse_module(struct hl_code_address *a, const char *s)
{
	size_t len;

	s += *s == ' ';
	len = strlen(s);
	if (len < 3 || s[0] != '[' || s[len - 1] != ']')
		return -EINVAL;
	a->module = strndup(s + 1, len - 2);
	return a->module ? 0 : -ENOMEM;
}

int hl_code_address_parse(struct hl_code_address *a, const char *text)
{
	char *end;

	*a = (struct hl_code_address){0};
	if (strncmp(text, "0x", 2) != 0 || !isxdigit((unsigned char)text[2]) || strpbrk(text, "*?"))
		return -ENOENT;
	errno = 0;
	a->address = strtoull(text + 2, &end, 16);
	if (errno)
		return -EINVAL;
	return *end ? parse_module(a, end) : 0;
}

void hl_code_address_fini(struct hl_code_address *a)
{
	free(a->module);
	a->module = NULL;
}

bool hl_code_address_matches(const struct hl_code_address *a, const struct hl_frame *f)
{
	char text[32];

	if (a->module && (!f->module || (strcmp(f->module, a->module) != 0 &&
						strcmp(base_name(f->module), a->module) != 0)))
		return false;
	if (f->entry && a->address >= f->start && a->address < f->end)
		return true;
	/* The return address behind a last call is beyond the function. */
	snprintf(text, sizeof(text), "0x%" PRIx64, a->address);
	return strcmp(f->function, text) == 0;
}

void hl_put_function(struct hl_strbuf *b, const struct hl_frame *f)
{
	bool address = f->entry || strncmp(f->function, "0x", 2) == 0;

	hl_strbuf_puts(b, f->entry ? f->entry : f->display_name);
	if (address && f->module)
		hl_strbuf_printf(b, " [%s]", base_name(f->module));
}
