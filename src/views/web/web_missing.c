/* SPDX-License-Identifier: Apache-2.0 */
/* web_missing.c - instead of server.c, where libmicrohttpd was not installed. */
#include <errno.h>

#include "views/web/web.h"

bool hl_web_is_built(void)
{
	return false;
}

int hl_web_start(
	struct hl_web **out, const struct hl_web_options *options, struct hl_web_failure *why)
{
	*out = NULL;
	snprintf(why->text, sizeof(why->text), "it was not built");
	return -ENOSYS;
}

void hl_web_stop(struct hl_web *w)
{
}

const char *hl_web_url(const struct hl_web *w)
{
	return "";
}

uint16_t hl_web_port(const struct hl_web *w)
{
	return 0;
}

const char *hl_web_problem(struct hl_web *w, size_t i)
{
	return NULL;
}
