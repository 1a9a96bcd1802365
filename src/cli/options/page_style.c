/* SPDX-License-Identifier: Apache-2.0 */
/* page_style.c - see page_style.h. */
#include "cli/options/page_style.h"

#include <langinfo.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/terminal/terminal.h"

#define MIN_WIDTH 40
#define MAX_WIDTH 1000

static size_t page_width(void)
{
	unsigned n = hl_term_width(STDOUT_FILENO);

	if (n == 0)
		return 80; /* the width is not known */
	return n < MIN_WIDTH ? MIN_WIDTH : n > MAX_WIDTH ? MAX_WIDTH : n;
}

void hl_cli_page_style(struct hl_text_opts *style)
{
	style->color = hl_cli_colors(STDOUT_FILENO);
	style->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	style->width = page_width();
	style->shorten = isatty(STDOUT_FILENO);
}
