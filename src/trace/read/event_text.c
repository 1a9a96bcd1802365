/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text.c - formats events as lines of text. Not with printf, because a dump has millions of
 * lines.
 */
#include <string.h>

#include "base/attr.h"
#include "trace/read/event_text.h"

static const char *const func_names[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	"new",
	"new[]",
	"free",
	"cfree",
	"free_sized",
	"free_aligned_sized",
	"delete",
	"delete[]",
	"implicit",
	"mmap",
	"munmap",
	"mremap",
	"pool",
	"unknown",
};
_Static_assert(HL_ARRAY_LEN(func_names) == HL_FUNC_COUNT, "a name for each function");

static const char *const extra_names[] = {
	"mark",
	"snapshot",
	"start",
	"stop",
	"thread-name",
	"unknown-free",
	"dropped",
	"mmap",
	"munmap",
	"mremap",
	"mode",
	"pool",
	"pool-alloc",
	"pool-free",
};
_Static_assert(HL_ARRAY_LEN(extra_names) == HL_EXTRA_KIND_COUNT, "a name for each kind");

const char *hl_func_name(unsigned func)
{
	return func < HL_FUNC_COUNT ? func_names[func] : NULL;
}

const char *hl_extra_name(unsigned kind)
{
	return kind < HL_EXTRA_KIND_COUNT ? extra_names[kind] : NULL;
}

/* A line under construction. len also counts characters beyond the end of the buffer, which are not
 * stored. */
struct line {
	char *buf;
	size_t n, len;
};

static void put_char(struct line *l, char c)
{
	if (l->len + 1 < l->n)
		l->buf[l->len] = c;
	l->len++;
}

static void put_text(struct line *l, const char *s)
{
	while (*s)
		put_char(l, *s++);
}

static void put_number(struct line *l, uint64_t v, unsigned base)
{
	char digits[20];
	int i = 0;

	do {
		digits[i++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (i > 0)
		put_char(l, digits[--i]);
}

static void put_field(struct line *l, const char *before, uint64_t v)
{
	put_text(l, before);
	put_number(l, v, 10);
}

static void put_hex(struct line *l, const char *before, uint64_t v)
{
	put_text(l, before);
	put_number(l, v, 16);
}

static void put_node(struct line *l, const char *before, uint32_t node)
{
	put_text(l, before);
	if (node == HL_NODE_NONE)
		put_char(l, '-');
	else
		put_field(l, "n", node);
}

static void put_name(struct line *l, const char *name, const char *kind, unsigned number)
{
	put_char(l, ' ');
	if (name)
		put_text(l, name);
	else
		put_field(l, kind, number);
}

/* Puts s in quotes, with all bytes that are not printable ASCII as \xHH. */
static void put_quoted(struct line *l, const char *s)
{
	put_char(l, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			put_char(l, (char)c);
		} else {
			put_text(l, "\\x");
			put_char(l, "0123456789abcdef"[c >> 4]);
			put_char(l, "0123456789abcdef"[c & 15]);
		}
	}
	put_char(l, '"');
}

static int end_line(struct line *l)
{
	if (l->n > 0)
		l->buf[l->len < l->n ? l->len : l->n - 1] = '\0';
	return (int)l->len;
}

static struct hl_role find_role(const struct hl_roles *r, uint32_t id)
{
	return id < r->n ? r->list[id] : (struct hl_role){id, HL_TAG_NONE};
}

static void put_tag(struct line *l, const char *before, uint32_t tag)
{
	if (tag != HL_TAG_NONE)
		put_field(l, before, tag);
}

int hl_event_text_event(char *buf, size_t n, const struct hl_event *e, const struct hl_roles *roles)
{
	struct hl_role role = find_role(roles, e->thread), by = find_role(roles, e->alloc_role);
	struct line l = {buf, n, 0};

	put_text(&l, e->op == HL_OP_ALLOC ? "alloc" : "free");
	put_field(&l, " ", e->time_ns);
	put_field(&l, " t", role.thread);
	put_name(&l, hl_func_name(e->func), "func", e->func);
	put_hex(&l, " 0x", e->addr);
	put_field(&l, " ", e->size);
	put_field(&l, " #", e->ordinal);
	put_node(&l, " ", e->node);
	put_text(&l, e->flags & HL_EVENT_MOVED ? " moved" : " -");
	if (e->op == HL_OP_FREE) {
		put_field(&l, " life=", e->lifetime_class);
		put_field(&l, " by=t", by.thread);
		put_node(&l, " at=", e->free_node);
		put_tag(&l, " of=g", by.tag);
	}
	put_tag(&l, " in=g", role.tag);
	if (e->blocks > 1 || (e->blocks && e->bytes != e->size)) {
		put_field(&l, " blocks=", e->blocks);
		put_field(&l, " bytes=", e->bytes);
	}
	return end_line(&l);
}

int hl_event_text_extra(char *buf, size_t n, const struct hl_extra *x, const struct hl_roles *roles)
{
	struct line l = {buf, n, 0};

	put_field(&l, "extra ", x->time_ns);
	put_field(&l, " t", find_role(roles, x->thread).thread);
	put_name(&l, hl_extra_name(x->kind), "kind", x->kind);
	put_hex(&l, " 0x", x->addr);
	put_field(&l, " ", x->size);
	put_field(&l, " ", x->value);
	put_field(&l, " ", x->value2);
	put_node(&l, " ", x->node);
	put_char(&l, ' ');
	if (x->text)
		put_quoted(&l, x->text);
	else
		put_char(&l, '-');
	return end_line(&l);
}
