/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_options.c - options for the sources and the display of symbol names; see symbol_options.h.
 */
#include "cli/options/symbol_options.h"

#include <langinfo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

static struct hl_symbol_options *get_options(void *state)
{
	return &((struct hl_symbol_state *)state)->symbols;
}

const char *hl_set_symbols(void *state, const char *value)
{
	if (access(value, F_OK) != 0)
		return "an existing file or directory";
	return hl_vec_push(&get_options(state)->paths, value)
		       ? "small enough for the available memory"
		       : NULL;
}

const char *hl_set_sysroot(void *state, const char *value)
{
	struct stat st;

	get_options(state)->sysroot = get_options(state)->sources.sysroot = value;
	return stat(value, &st) == 0 && S_ISDIR(st.st_mode) ? NULL : "a directory";
}

const char *hl_add_source_root(void *state, const char *value)
{
	struct hl_symbol_options *o = get_options(state);

	if (!hl_source_root_is_valid(value))
		return "a directory, or OLD=NEW with the directory NEW";
	if (hl_vec_push(&o->roots, value))
		return "small enough for the available memory";
	o->sources.roots = o->roots.data;
	o->sources.n_roots = o->roots.len;
	return NULL;
}

const char *hl_set_debuginfod(void *state, const char *value)
{
	int i = hl_word_find(HL_DEBUGINFOD_VALUES, value);

	get_options(state)->no_debuginfod = i == 1;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

const char *hl_set_full_names(void *state, const char *value)
{
	get_options(state)->full_names = true;
	return NULL;
}

/* On a terminal, one line that is overwritten; otherwise one line for each file. A server looks up
 * names in several threads. */
static _Thread_local struct {
	const char *file;
	bool shown;
} progress;

static void on_fetching(void *user, const char *file, uint64_t done, uint64_t all)
{
	char part[HL_TEXT_SIZE_MAX], whole[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};
	const char *name = file ? strrchr(file, '/') : NULL;
	bool tty = isatty(STDERR_FILENO);

	if (!file) {
		if (tty && progress.shown)
			fputs("\r\033[K", stderr);
		progress.file = NULL;
		progress.shown = false;
		return;
	}
	if (!tty && progress.file == file)
		return;
	progress.file = file;
	progress.shown = true;
	hl_strbuf_puts(&b, tty ? "\r\033[K" : "");
	hl_strbuf_puts(&b, "heaplapse: fetching debug information of ");
	hl_text_escape(&b, name && name[1] ? name + 1 : file);
	if (tty && done)
		hl_strbuf_printf(&b, ": %s", hl_text_bytes(part, done));
	if (tty && done && all)
		hl_strbuf_printf(&b, " of %s", hl_text_bytes(whole, all));
	hl_strbuf_puts(&b, tty ? "" : "\n");
	fputs(hl_strbuf_str(&b), stderr);
	hl_strbuf_fini(&b);
}

/* A command may read several traces. After a server failed for one, it is not used for the next. */
static atomic_bool servers_failed;

static void on_fetch_failed(void *user, const char *sentence)
{
	servers_failed = true;
	hl_cli_error("%s (--debuginfod=no disables it)", sentence);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Builds $XDG_CACHE_HOME/heaplapse/sym, else ~/.cache/heaplapse/sym; empty for no cache. A home
 * directory that does not exist ("/nonexistent") is not created. */
static void build_cache_path(struct hl_strbuf *b)
{
	const char *off = getenv("HEAPLAPSE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (off && strcmp(off, "off") == 0)
		return;
	if (xdg && xdg[0] == '/')
		hl_strbuf_printf(b, "%s/heaplapse/sym", xdg);
	else if (home && home[0] == '/' && is_directory(home))
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
		.on_progress = on_fetching,
		.on_fetch_failed = on_fetch_failed,
	};
	int err;

	if (!o->full_names && !json)
		c.ellipsis = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "...";
	build_cache_path(&cache);
	c.cache_dir = hl_strbuf_str(&cache);
	err = hl_symbols_configure(hl_model_symbols(m), &c);
	hl_model_set_sources(m, &o->sources);
	hl_strbuf_fini(&cache);
	if (err)
		hl_cli_error("%s", strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

void hl_symbol_options_fini(struct hl_symbol_options *o)
{
	hl_vec_free(&o->paths);
	hl_vec_free(&o->roots);
}
