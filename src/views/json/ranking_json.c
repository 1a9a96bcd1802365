/* SPDX-License-Identifier: Apache-2.0 */
/* ranking_json.c - the processes of --group process by their values, as JSON. */
#include <stdlib.h>

#include "views/json/json.h"

static void json_row(struct hl_json *j, const struct hl_process_row *r,
	const struct hl_value *total, bool by_blocks)
{
	hl_json_begin_object(j);
	hl_json_key_u64(j, "pid", r->pid);
	hl_json_key_string(j, "program", r->program);
	hl_json_key_u64(j, "bytes", r->value.bytes);
	hl_json_key_u64(j, "blocks", r->value.blocks);
	hl_json_key_u64(j, "share_ppm", hl_process_row_share(r, total, by_blocks));
	hl_json_end_object(j);
}

void hl_json_ranking(struct hl_json *j, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, bool by_blocks)
{
	size_t *order = hl_process_rows_rank(rows, n, by_blocks);

	hl_json_key(j, "ranking");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++)
		json_row(j, &rows[order ? order[i] : i], total, by_blocks);
	hl_json_end_array(j);
	free(order);
}
