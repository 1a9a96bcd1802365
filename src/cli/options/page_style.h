/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_style.h - how text for people is written to stdout.
 */
#ifndef HL_CLI_OPTIONS_PAGE_STYLE_H
#define HL_CLI_OPTIONS_PAGE_STYLE_H

#include "views/text/text.h"

/* Sets colours, characters and width. Only on a terminal are lines shortened to the width. */
void hl_cli_page_style(struct hl_text_opts *style);

#endif
