/* SPDX-License-Identifier: Apache-2.0 */
/* size_parse.c - see size_parse.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "request/size_parse.h"

bool hl_size_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t unit = 1;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'M' || *end == 'G') {
		unit = *end == 'K' ? 1024 : *end == 'M' ? 1u << 20 : 1u << 30;
		end++;
	}
	if (!isdigit((unsigned char)text[0]) || errno || *end || *out > UINT64_MAX / unit)
		return false;
	*out *= unit;
	return *out >= min && *out <= max;
}
