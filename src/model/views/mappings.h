/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.h - the mappings that the program made itself: mmap, mremap, munmap. Needs a trace of
 * record --mmap.
 *
 * A mapping begins with its mmap. munmap may remove parts of it, mremap moves and resizes it. It
 * ends when no part of it is left: by munmap, or by another mapping at its address (MAP_FIXED). The
 * kernel maps whole pages, so mapped bytes are counted in pages; `size` is the requested size.
 */
#ifndef HL_MODEL_VIEWS_MAPPINGS_H
#define HL_MODEL_VIEWS_MAPPINGS_H

#include "model/query/filter.h"
#include "model/model.h"
#include "util/strbuf.h"
#include "util/vec.h"

struct hl_mapping {
	uint64_t id;                     /* from 0, in the order of creation */
	uint64_t addr, size;             /* as originally mapped */
	uint64_t last_addr, last_size;   /* after the last mremap; else as addr, size */
	uint64_t mapped_bytes;           /* of its pages, at the end of the trace */
	uint64_t mapped_ns, unmapped_ns; /* unmapped_ns: UINT64_MAX while any part is mapped */
	uint64_t allocs_before;          /* number of heap allocations before it */
	uint32_t node, thread;           /* of the call that created it */
	uint32_t end_node, end_thread;   /* of the munmap or mmap that removed the last part */
	uint32_t prot, flags;            /* of its mmap; changes by mprotect are not recorded */
	uint32_t remaps;                 /* number of mremap calls */
	uint32_t partial_unmaps;  /* number of munmap or mmap calls that removed a part of it */
	uint64_t last_unmap_call; /* index of the last such call, counted from 1 over all side
				     events */
	bool flags_unknown; /* its mmap was not recorded, only an mremap: prot and flags are not
			       known */
	bool replaced;      /* another mapping at its address ended it */
};

/* The callback gets a mapping when it ends. Mappings that do not end follow at the end, by id. */
struct hl_mappings {
	struct hl_filter *filter; /* bound here; NULL: all. A mapping is tested like a block */
	int (*on_mapping)(void *arg, const struct hl_mapping *map); /* may be NULL */
	void *arg;

	/* Results. Of the mappings that fit the filter: */
	uint64_t n, bytes; /* requested sizes */
	uint64_t n_left, left_bytes;
	/* Of all mappings, in pages: */
	uint64_t peak_bytes, peak_ns;
	uint64_t end_ns;    /* mappings are known up to this time */
	bool before_damage; /* a damaged part of the file ended the scan early */
};

/* Can the trace answer the next functions? Returns 0, or -errno with hl_model_error(). */
int hl_mappings_check(struct hl_model *m, struct hl_filter *filter);
/* Returns 0, -errno with hl_model_error(), or the error of on_mapping. -ENODATA: mmap was not
 * recorded. */
int hl_model_mappings(struct hl_model *m, struct hl_mappings *x);

/* The largest mappings in descending order, at most `limit` (0: all). */
struct hl_mapping_list {
	HL_VEC(struct hl_mapping) maps;
	struct hl_mappings sums;
};
int hl_mappings_largest(
	struct hl_model *m, struct hl_filter *filter, size_t limit, struct hl_mapping_list *list);
void hl_mapping_list_fini(struct hl_mapping_list *list);

/* "rw-"; "private,anonymous": unknown bits are appended as a hexadecimal number. */
#define HL_MAPPING_PROT_MAX 4
const char *hl_mapping_prot(char buf[HL_MAPPING_PROT_MAX], uint32_t prot);
void hl_mapping_put_flags(struct hl_strbuf *b, uint32_t flags);
/* The text of both for one mapping; NULL if they are not known. */
struct hl_mapping_text {
	const char *prot, *flags;
	char prot_text[HL_MAPPING_PROT_MAX];
	struct hl_strbuf flags_text;
};
void hl_mapping_text_init(struct hl_mapping_text *w, const struct hl_mapping *map);
void hl_mapping_text_fini(struct hl_mapping_text *w);

#endif
