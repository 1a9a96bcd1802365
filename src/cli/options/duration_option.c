/* SPDX-License-Identifier: Apache-2.0 */
/* duration_option.c - parses durations in options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "model/query/time_spec.h"

bool hl_cli_duration(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
	size_t len = strlen(text);
	struct hl_time_spec when;
	char buf[64];

	if (len == 0 || len > 32)
		return false;
	snprintf(buf, sizeof(buf), "%s%s", text, isdigit((unsigned char)text[len - 1]) ? "s" : "");
	if (hl_time_spec_parse(buf, strlen(buf), &when) || when.kind != HL_TIME_SPEC_NS ||
		when.ns < min_ns || when.ns > max_ns)
		return false;
	*ns = when.ns;
	return true;
}
