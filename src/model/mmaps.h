/*
 * mmaps.h - the mappings that the program made itself: mmap, mremap, munmap. Needs a trace of
 * record --mmap.
 *
 * A mapping begins with its mmap. munmap may take parts of it, mremap moves and resizes it. It ends
 * when nothing of it is left: by munmap, or by another mapping at its place (MAP_FIXED). The kernel
 * maps whole pages, so what is mapped is counted in pages, and the size is what was asked for.
 */
#ifndef HL_MODEL_MMAPS_H
#define HL_MODEL_MMAPS_H

#include "model/filter.h"
#include "model/model.h"
#include "util/strbuf.h"
#include "util/vec.h"

struct hl_mmap {
	uint64_t id;                   /* from 0, in the order of their beginning */
	uint64_t addr, size;           /* as it was mapped */
	uint64_t last_addr, last_size; /* after the last mremap; the same without one */
	uint64_t mapped_bytes;         /* of its pages, at the end of the trace */
	uint64_t birth_ns, death_ns;   /* death: UINT64_MAX while any of it is mapped */
	uint64_t allocs_before;        /* allocations of the heap before it */
	uint32_t node, thread;         /* who mapped it */
	uint32_t end_node, end_thread; /* whose munmap or mmap took the last of it */
	uint32_t prot, flags;          /* of its mmap; what mprotect changed is not recorded */
	uint32_t remaps;               /* mremap calls */
	uint32_t cuts;                 /* munmap or mmap calls that took a part of it */
	uint64_t cut_by;               /* the last of them, by its number among all calls */
	bool unknown;  /* its mmap was not recorded, only an mremap: no prot and no flags */
	bool replaced; /* ended by another mapping at its place */
};

/* Rows are handed over when a mapping ends, or after all others, by id, if it does not. */
struct hl_mmaps {
	struct hl_filter *filter; /* bound by this; NULL: all. A mapping is asked as a block is */
	int (*mapping)(void *arg, const struct hl_mmap *map); /* may be NULL */
	void *arg;

	/* What came of it: of those that were handed over, */
	uint64_t n, bytes; /* sizes as they were asked for */
	uint64_t n_left, left_bytes;
	/* of all, in pages: */
	uint64_t peak_bytes, peak_ns;
	uint64_t end_ns; /* up to when it is known what became of them */
	bool moved;      /* a part of the file stopped it before the end */
};

/* 0 or -errno with hl_model_error(), or what `mapping` returned; -ENODATA: mmap was not recorded.
 */
int hl_model_mmaps(struct hl_model *m, struct hl_mmaps *x);

/* The largest ones, at most `limit` (0: all), in that order. */
struct hl_mmap_list {
	HL_VEC(struct hl_mmap) maps;
	struct hl_mmaps sums;
};
int hl_mmaps_largest(
	struct hl_model *m, struct hl_filter *filter, size_t limit, struct hl_mmap_list *list);
void hl_mmap_list_fini(struct hl_mmap_list *list);

/* "rw-"; "private,anonymous", what has no name as a number. */
#define HL_MMAP_PROT_MAX 4
const char *hl_mmap_prot(char buf[HL_MMAP_PROT_MAX], uint32_t prot);
void hl_mmap_put_flags(struct hl_strbuf *b, uint32_t flags);
/* Both of a mapping; NULL where they are not known. */
struct hl_mmap_words {
	const char *prot, *flags;
	char prot_text[HL_MMAP_PROT_MAX];
	struct hl_strbuf flags_text;
};
void hl_mmap_words_init(struct hl_mmap_words *w, const struct hl_mmap *map);
void hl_mmap_words_fini(struct hl_mmap_words *w);

#endif
