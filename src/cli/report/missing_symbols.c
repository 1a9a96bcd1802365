/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing_symbols.c - prints which modules have no symbols, because files for other viewers have no
 * field for it.
 */
#include <stdlib.h>

#include "cli/report/request_options.h"
#include "util/strbuf.h"

#define MIN_SHARE_DIVISOR 10 /* warn from a tenth of the frames on */
#define MAX_SHOWN         3  /* modules listed by name */

/* Returns the module with the most unnamed frames; n if none is left. */
static size_t find_worst(const size_t *nameless, size_t n)
{
	size_t worst = n;

	for (size_t i = 0; i < n; i++) {
		if (nameless[i] > 0 && (worst == n || nameless[i] > nameless[worst]))
			worst = i;
	}
	return worst;
}

/* Prints "/opt/app, /opt/libfoo.so and 2 more". Sets the counts to 0. */
static void add_modules(struct hl_strbuf *b, struct hl_model *m, size_t *nameless, size_t n)
{
	size_t shown = 0, more = 0, at;

	while ((at = find_worst(nameless, n)) < n) {
		const char *path, *note;

		nameless[at] = 0;
		hl_model_module_note(m, at, &path, &note);
		if (shown < MAX_SHOWN)
			hl_strbuf_printf(b, "%s%s", shown++ ? ", " : "", path);
		else
			more++;
	}
	if (more)
		hl_strbuf_printf(b, " and %zu more", more);
}

bool hl_export_put_missing_symbols(struct hl_strbuf *b, struct hl_model *m)
{
	size_t n = hl_model_n_module_notes(m), frames = 0, sum = 0;
	size_t *nameless = calloc(n + 1, sizeof(*nameless));
	struct hl_strbuf modules = {0};
	bool is_put = false;

	/* The true names of an anonymized trace cannot be found anywhere. */
	if (!nameless || hl_model_info(m)->meta.slice.flags & HL_SLICE_NAMES ||
		hl_model_count_nameless(m, &frames, nameless))
		goto out;
	for (size_t i = 0; i < n; i++)
		sum += nameless[i];
	if (sum == 0 || sum < frames / MIN_SHARE_DIVISOR)
		goto out;
	add_modules(&modules, m, nameless, n);
	is_put = true;
	hl_strbuf_printf(b, "%zu of %zu frames have no name, in %s; " HL_MISSING_SYMBOLS_ADVICE,
		sum, frames, hl_strbuf_str(&modules));
out:
	hl_strbuf_fini(&modules);
	free(nameless);
	return is_put;
}
