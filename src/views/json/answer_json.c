/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_json.c - the parts that many answers have: values, totals and frames.
 */
#include <inttypes.h>
#include <stdio.h>

#include "views/json/json_internal.h"

void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%sbytes", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->bytes);
	snprintf(key, sizeof(key), "%s%sblocks", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->blocks);
	if (v->variance <= 0)
		return;
	snprintf(key, sizeof(key), "%s%sbytes_margin", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, hl_value_margin(v));
}

void hl_json_answer(struct hl_json *j, const struct hl_answer *a)
{
	hl_json_key_string(j, "quantity", hl_quantity_name(a->quantity));
	hl_json_key_u64(j, "from_ns", a->from_ns);
	hl_json_key_u64(j, "to_ns", a->to_ns);
	hl_json_value(j, "total", &a->total);
	if (!a->has_unknown_accuracy)
		return;
	hl_json_key(j, "total_bytes_margin");
	hl_json_string(j, NULL);
}

void hl_json_frame(struct hl_json *j, const struct hl_frame *f)
{
	hl_json_key_string(j, "function", f->function);
	hl_json_key_string(j, "file", f->file);
	hl_json_key_u64(j, "line", f->line);
	hl_json_key_string(j, "module", f->module);
}

void hl_json_key_hex(struct hl_json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	hl_json_key_string(j, key, text);
}

void hl_json_permissions(struct hl_json *j, const char *key, uint8_t perms)
{
	const char text[] = {perms & HL_MAP_READ ? 'r' : '-', perms & HL_MAP_WRITE ? 'w' : '-',
		perms & HL_MAP_EXECUTE ? 'x' : '-', perms & HL_MAP_SHARED ? 's' : 'p', '\0'};

	hl_json_key_string(j, key, text);
}
