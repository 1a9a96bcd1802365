/* SPDX-License-Identifier: Apache-2.0 */
/* shell_word.c - see shell_word.h. */
#include "util/terminal/shell_word.h"

#include <stdbool.h>
#include <string.h>

void hl_shell_put_word(struct hl_strbuf *b, const char *word)
{
	bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-+=./:,@%") == strlen(word);

	if (plain) {
		hl_strbuf_puts(b, word);
		return;
	}
	hl_strbuf_putc(b, '\'');
	for (; *word; word++) {
		char str[2] = {*word, 0};

		if (*word == '\'')
			hl_strbuf_puts(b, "'\\''");
		else
			hl_strbuf_puts(b, str);
	}
	hl_strbuf_putc(b, '\'');
}

void hl_shell_put_path(struct hl_strbuf *b, const char *path)
{
	if (*path == '-')
		hl_strbuf_puts(b, "./");
	hl_shell_put_word(b, path);
}
