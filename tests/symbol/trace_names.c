/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_names.c - prints the names of every address in a trace, and the time that it took.
 *
 * usage: trace_names [--cache DIR] [--symbols DIR] TRACE. Each (module, offset) is printed once: a
 * line "@MODULE|OFFSET", then "function|file|line" for each frame, innermost first. The time goes
 * to stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/model.h"
#include "symbol/symbol.h"
#include "trace/read/reader.h"
#include "util/pair_map.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show(struct hl_model *m, const struct hl_module *module, const struct hl_node *node,
	const struct hl_frame_ref *refs, size_t n)
{
	printf("@%s|%" PRIx64 "\n", module->path, node->offset);
	while (n-- > 0) {
		const struct hl_frame *f = hl_model_frame(m, refs[n].frame);

		printf("%s|%s|%u\n", f->function, f->file ? f->file : "?", f->line);
	}
}

int main(int argc, char **argv)
{
	struct hl_symbols_config config = {0};
	struct hl_reader_refusal why;
	struct hl_pair_map seen = {0};
	double start, spent = 0;
	struct hl_model *m;

	for (int i = 1; i + 2 < argc; i += 2) {
		if (strcmp(argv[i], "--cache") == 0) {
			config.cache_dir = argv[i + 1];
		} else {
			config.paths = (const char *const *)&argv[i + 1];
			config.n_paths = 1;
		}
	}
	if (hl_model_open(&m, argv[argc - 1], &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	if (hl_symbols_configure(hl_model_symbols(m), &config))
		return 1;
	for (uint32_t i = 0; i < hl_model_n_nodes(m); i++) {
		const struct hl_frame_ref *refs;
		struct hl_module module;
		struct hl_node node;
		size_t n;

		if (hl_reader_node(hl_model_reader(m), i, &node) || node.module == HL_MODULE_NONE ||
			hl_pair_map_get(&seen, node.module, node.offset) != HL_PAIR_MAP_NONE)
			continue;
		start = now();
		if (hl_model_node_frames(m, i, &refs, &n) ||
			hl_pair_map_put(&seen, node.module, node.offset, 0))
			return 1;
		spent += now() - start;
		if (hl_reader_module(hl_model_reader(m), node.module, &module) == 0)
			show(m, &module, &node, refs, n);
	}
	start = now();
	hl_model_close(m);
	fprintf(stderr, "%zu addresses in %.3f s, and %.3f s to close\n", seen.len, spent,
		now() - start);
	hl_pair_map_fini(&seen);
	return 0;
}
