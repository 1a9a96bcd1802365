/*
 * export_names.c - says which modules had no names, since in a file for another viewer there is no
 * place for it.
 */
#include <stdlib.h>

#include "cli/report.h"
#include "util/strbuf.h"

#define SHARE_MOST 10 /* as a divisor: from a tenth of the frames on it is worth a line */
#define SHOWN_MOST 3  /* modules */

/* The one with the most that was not taken yet; n: none is left. */
static size_t next_worst(const size_t *nameless, size_t n)
{
	size_t worst = n;

	for (size_t i = 0; i < n; i++) {
		if (nameless[i] > 0 && (worst == n || nameless[i] > nameless[worst]))
			worst = i;
	}
	return worst;
}

/* "/opt/app, /opt/libfoo.so and 2 more" */
static void put_modules(struct hl_strbuf *b, struct hl_model *m, size_t *nameless, size_t n)
{
	size_t shown = 0, more = 0, at;

	while ((at = next_worst(nameless, n)) < n) {
		const char *path, *note;

		nameless[at] = 0;
		hl_model_note(m, at, &path, &note);
		if (shown < SHOWN_MOST)
			hl_strbuf_printf(b, "%s%s", shown++ ? ", " : "", path);
		else
			more++;
	}
	if (more)
		hl_strbuf_printf(b, " and %zu more", more);
}

void hl_export_say_nameless(struct hl_model *m)
{
	size_t n = hl_model_n_notes(m), frames = 0, sum = 0;
	size_t *nameless = calloc(n + 1, sizeof(*nameless));
	struct hl_strbuf modules = {0};

	/* Nobody has the true names of what was renamed. */
	if (!nameless || hl_model_info(m)->meta.cut.flags & HL_CUT_NAMES ||
		hl_model_count_nameless(m, &frames, nameless))
		goto out;
	for (size_t i = 0; i < n; i++)
		sum += nameless[i];
	if (sum == 0 || sum < frames / SHARE_MOST)
		goto out;
	put_modules(&modules, m, nameless, n);
	hl_cli_error(
		"%zu of %zu frames have no name, in %s; install debug packages or name a folder "
		"with debug files by --symbols, or run heaplapse embed where it was recorded",
		sum, frames, hl_strbuf_str(&modules));
out:
	hl_strbuf_fini(&modules);
	free(nameless);
}
