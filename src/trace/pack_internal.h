/*
 * pack_internal.h - columns into fewer bytes, each by the way that pays for it.
 *
 * zstd looks for what stood there before, and then writes what is left by how often each byte
 * comes. In columns of times, of sizes or of addresses without order the first takes most of the
 * time and finds matches so short that they gain nothing, or lose. Where that is so only the second
 * is done. It is found out by trying, again after every HL_PACK_AGAIN chunks or when the column is
 * no longer what it was, and by the bytes alone: the same columns always become the same file. A
 * reader sees no difference.
 */
#ifndef HL_TRACE_PACK_INTERNAL_H
#define HL_TRACE_PACK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_PACK_AGAIN 16u
#define HL_PACK_IDS   128u /* columns with larger ids are packed by matches */

struct hl_packer {
	struct ZSTD_CCtx_s *matching;
	struct ZSTD_CCtx_s *counting; /* NULL: this zstd does not know how to */
	bool borrowed;                /* both are another packer's */
	struct hl_pack_way {
		bool counts;
		uint8_t wait;   /* so many are packed before both ways are tried */
		uint32_t share; /* of its bytes that was left when they were, in 1/65536 */
	} ways[HL_PACK_IDS];
};

/* 0 or -ENOMEM; to be ended in either case. */
int hl_packer_init(struct hl_packer *p);
void hl_packer_fini(struct hl_packer *p);
/* One with columns of its own that packs with the contexts of another, which outlives it. */
void hl_packer_borrow(struct hl_packer *p, const struct hl_packer *from);
/* The room that packing len bytes needs, for either way and for trying both. */
size_t hl_pack_room(size_t len);
/* How many bytes of `to` it takes; len if none are spared, and what is in `to` means nothing then.
 */
size_t hl_pack(
	struct hl_packer *p, uint16_t id, uint8_t *to, size_t room, const uint8_t *raw, size_t len);

#endif
