/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressed_json.c - the blocks that suppressions removed from a list of leaks, as JSON.
 */
#include "views/json/json.h"

void hl_json_suppressed(struct hl_json *j, const struct hl_suppressions *s)
{
	size_t n;
	const struct hl_suppressed *removed = hl_suppressions_counts(s, &n);

	hl_json_key(j, "suppressed");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		if (removed[i].value.blocks == 0)
			continue;
		hl_json_begin_object(j);
		hl_json_key_string(j, "pattern", removed[i].pattern);
		hl_json_value(j, "", &removed[i].value);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}
