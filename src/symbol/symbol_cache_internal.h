/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache_internal.h - symbolized addresses on disk, one file per build-id.
 *
 * The same build-id means the same code and the same names, so an address that was looked up once
 * need not be looked up again, and the module's files need not be opened. A file is written
 * completely under a temporary name and then renamed, so any number of processes may read and
 * write. The last writer wins: this can lose entries but not produce wrong ones. A file that is not
 * owned by us, damaged or of another version is treated as missing.
 */
#ifndef HL_SYMBOL_SYMBOL_CACHE_INTERNAL_H
#define HL_SYMBOL_SYMBOL_CACHE_INTERNAL_H

#include "symbol/symbol_internal.h"
#include "util/pair_map.h"

#define HL_SYMBOL_CACHE_ID_MAX 64
#define HL_SYMBOL_CACHE_NONE   UINT32_MAX

/* As in the file. */
struct hl_symbol_cache_site {
	uint64_t offset;
	uint64_t start, end; /* without frames: the bounds of the function, or 0 */
	uint32_t first, n;   /* its range in frames */
};
struct hl_symbol_cache_frame {
	uint32_t function, file; /* offsets in the text; HL_SYMBOL_CACHE_NONE: no file */
	uint32_t line, inlined;
};

/* A file in memory, after validation. Sites are sorted by offset. */
struct hl_symbol_cache_data {
	void *memory;
	uint32_t state; /* enum hl_symbols_state */
	uint32_t n_sites, n_frames, n_text;
	const struct hl_symbol_cache_site *sites;
	const struct hl_symbol_cache_frame *frames;
	const char *text;
};
/* Creates `dir` and its parents. Returns 0 if it exists, belongs to us and is not writable by
 * others. */
int hl_symbol_cache_dir(const char *dir);
/* Reads the file of a build-id. -ENOENT: missing or not valid. */
int hl_symbol_cache_read(
	struct hl_symbol_cache_data *d, const char *dir, const uint8_t *id, size_t len);
/* Writes a file from all members except `memory`. Returns 0 or -errno. */
int hl_symbol_cache_write(
	const struct hl_symbol_cache_data *d, const char *dir, const uint8_t *id, size_t len);
/* Removes the oldest files while the total size exceeds max_bytes. */
void hl_symbol_cache_prune(const char *dir, uint64_t max_bytes);

/* The cached addresses of one module. */
struct hl_symbol_cache {
	struct hl_symbol_cache_data disk;
	uint32_t state; /* state of the learned entries */
	struct {
		HL_VEC(struct hl_symbol_cache_site) sites;
		HL_VEC(struct hl_symbol_frame) frames; /* strings are owned by the caller */
	} learned;
};
void hl_symbol_cache_load(
	struct hl_symbol_cache *c, const char *dir, const uint8_t *id, size_t len);
bool hl_symbol_cache_loaded(const struct hl_symbol_cache *c);
void hl_symbol_cache_unload(struct hl_symbol_cache *c);
/* Appends the cached frames of an offset to *into. Returns false if the offset is not cached. An
 * entry may have 0 frames. */
bool hl_symbol_cache_get(
	const struct hl_symbol_cache *c, uint64_t offset, struct hl_frames *into, int *err);
/* Adds an entry. The strings must live until hl_symbol_cache_save. */
void hl_symbol_cache_put(
	struct hl_symbol_cache *c, uint64_t offset, const struct hl_frames *frames);
/* Merges the learned entries with those on disk and writes the file. Errors are ignored. Returns
 * true if a file was written. */
bool hl_symbol_cache_save(
	struct hl_symbol_cache *c, const char *dir, const uint8_t *id, size_t len);
void hl_symbol_cache_fini(struct hl_symbol_cache *c);

#endif
