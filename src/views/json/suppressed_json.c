/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressed_json.c - the blocks that suppressions removed from a list of leaks, as JSON.
 */
#include "views/json/json_internal.h"

void hl_json_suppressed(
	struct hl_json *j, const struct hl_suppressions *s, struct hl_row_limit *rows)
{
	size_t n;
	const struct hl_suppressed *removed = hl_suppressions_counts(s, &n);

	struct hl_value all = hl_suppressions_total(s);

	hl_json_value(j, "suppressed", &all);
	hl_json_key(j, "suppressed");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		if (removed[i].value.blocks == 0)
			continue;
		if (!hl_json_begin_row(j, rows, NULL))
			continue;
		hl_json_key_string(j, "pattern", removed[i].pattern);
		hl_json_value(j, "", &removed[i].value);
		hl_json_end_row(j, rows);
	}
	hl_json_end_array(j);
}
