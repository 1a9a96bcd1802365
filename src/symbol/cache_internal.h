/*
 * cache_internal.h - answers kept on disk, one file for each build-id.
 *
 * Same build-id, same code, same names: what was looked up once need not be looked up again, nor
 * the module's files be opened. A file is written whole under another name and renamed, so any
 * number of processes may read and write; the last to finish wins, which can lose answers but
 * not make wrong ones. A file that is not ours, damaged or of another version is no file.
 */
#ifndef HL_SYMBOL_CACHE_INTERNAL_H
#define HL_SYMBOL_CACHE_INTERNAL_H

#include "symbol/symbol_internal.h"
#include "util/map.h"

#define HL_CACHE_ID_MAX 64
#define HL_CACHE_NONE   UINT32_MAX

/* As in the file. */
struct hl_cache_site {
	uint64_t offset;
	uint32_t first, n; /* frames */
};
struct hl_cache_frame {
	uint32_t function, file; /* in the text; HL_CACHE_NONE */
	uint32_t line, inlined;
};

/* A file in memory, checked. Sites are sorted by offset. */
struct hl_cache_data {
	void *memory;
	uint32_t state; /* enum hl_symbols_state */
	uint32_t n_sites, n_frames, n_text;
	const struct hl_cache_site *sites;
	const struct hl_cache_frame *frames;
	const char *text;
};
/* Makes `dir` and what is above it; 0 if it is there, ours, and nobody else's to write. */
int hl_cache_folder(const char *dir);
/* -ENOENT for whatever is no file of ours. */
int hl_cache_read(struct hl_cache_data *d, const char *dir, const uint8_t *id, size_t len);
/* Everything but memory is used. 0 or -errno. */
int hl_cache_write(const struct hl_cache_data *d, const char *dir, const uint8_t *id, size_t len);
/* Removes the oldest files when all together are too large. */
void hl_cache_prune(const char *dir, uint64_t max_bytes);

/* The answers of one module. */
struct hl_cache {
	struct hl_cache_data disk;
	uint32_t state; /* of what was learned now */
	struct {
		HL_VEC(struct hl_cache_site) sites;
		HL_VEC(struct hl_symbol_frame) frames; /* strings are the caller's */
	} learned;
};
void hl_cache_load(struct hl_cache *c, const char *dir, const uint8_t *id, size_t len);
bool hl_cache_loaded(const struct hl_cache *c);
void hl_cache_forget(struct hl_cache *c);
/* False when it has no answer. 0 frames are an answer, too. */
bool hl_cache_get(const struct hl_cache *c, uint64_t offset, struct hl_frames *into, int *err);
/* The offset must not be there yet; strings must live until hl_cache_save. */
void hl_cache_put(struct hl_cache *c, uint64_t offset, const struct hl_frames *frames);
/* Merges with what is on disk by now. Failing is no harm. True if a file was written. */
bool hl_cache_save(struct hl_cache *c, const char *dir, const uint8_t *id, size_t len);
void hl_cache_fini(struct hl_cache *c);

#endif
