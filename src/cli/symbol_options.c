/*
 * symbol_options.c - where names come from and how they are shown; see symbol_options.h.
 */
#include "cli/symbol_options.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol.h"
#include "util/strbuf.h"
#include "util/text.h"

static struct hl_symbol_options *options(void *state)
{
	return &((struct hl_symbol_state *)state)->symbols;
}

const char *hl_set_symbols(void *state, const char *value)
{
	if (access(value, F_OK) != 0)
		return "a file or folder that is there";
	return hl_vec_push(&options(state)->paths, value) ? "something we have memory for" : NULL;
}

const char *hl_set_sysroot(void *state, const char *value)
{
	struct stat st;

	options(state)->sysroot = value;
	return stat(value, &st) == 0 && S_ISDIR(st.st_mode) ? NULL : "a folder";
}

const char *hl_set_debuginfod(void *state, const char *value)
{
	int i = hl_word_find(HL_DEBUGINFOD_VALUES, value);

	options(state)->no_debuginfod = i == 1;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

const char *hl_set_full_names(void *state, const char *value)
{
	options(state)->full_names = true;
	return NULL;
}

/* One line that is written over on a terminal; elsewhere one line for each file. */
static struct {
	const char *what;
	bool shown;
} progress;

static void show_fetching(void *user, const char *what, uint64_t done, uint64_t all)
{
	char part[HL_TEXT_SIZE_MAX], whole[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};
	const char *name = what ? strrchr(what, '/') : NULL;
	bool tty = isatty(STDERR_FILENO);

	if (!what) {
		if (tty && progress.shown)
			fputs("\r\033[K", stderr);
		progress.what = NULL;
		progress.shown = false;
		return;
	}
	if (!tty && progress.what == what)
		return;
	progress.what = what;
	progress.shown = true;
	hl_strbuf_puts(&b, tty ? "\r\033[K" : "");
	hl_strbuf_puts(&b, "heaplapse: fetching debug information of ");
	hl_text_escape(&b, name && name[1] ? name + 1 : what);
	if (tty && done)
		hl_strbuf_printf(&b, ": %s", hl_text_bytes(part, done));
	if (tty && done && all)
		hl_strbuf_printf(&b, " of %s", hl_text_bytes(whole, all));
	hl_strbuf_puts(&b, tty ? "" : "\n");
	fputs(hl_strbuf_str(&b), stderr);
	hl_strbuf_fini(&b);
}

/* A command may read several traces; a server that was dead for one is not asked for the next. */
static bool servers_failed;

static void show_failed(void *user, const char *sentence)
{
	servers_failed = true;
	hl_cli_error("%s (--debuginfod=no does not try)", sentence);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* $XDG_CACHE_HOME/heaplapse/sym, else ~/.cache/heaplapse/sym; empty: none. A home that is not
 * there ("/nonexistent") is nobody's, and not made. */
static void cache_folder(struct hl_strbuf *b)
{
	const char *off = getenv("HEAPLAPSE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (off && strcmp(off, "off") == 0)
		return;
	if (xdg && xdg[0] == '/')
		hl_strbuf_printf(b, "%s/heaplapse/sym", xdg);
	else if (home && home[0] == '/' && is_folder(home))
		hl_strbuf_printf(b, "%s/.cache/heaplapse/sym", home);
}

int hl_symbol_options_apply(struct hl_symbol_options *o, struct hl_model *m, bool json)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct hl_strbuf cache = {0};
	struct hl_symbols_config c = {
		.paths = o->paths.data,
		.n_paths = o->paths.len,
		.sysroot = o->sysroot,
		.debuginfod = urls && *urls && !o->no_debuginfod && !servers_failed,
		.fetching = show_fetching,
		.fetch_failed = show_failed,
	};
	int err;

	if (!o->full_names && !json)
		c.ellipsis = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "...";
	cache_folder(&cache);
	c.cache_dir = hl_strbuf_str(&cache);
	err = hl_symbols_configure(hl_model_symbols(m), &c);
	hl_strbuf_fini(&cache);
	if (err)
		hl_cli_error("%s", strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

void hl_symbol_options_fini(struct hl_symbol_options *o)
{
	hl_vec_free(&o->paths);
}
