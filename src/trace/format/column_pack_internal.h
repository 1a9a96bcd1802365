/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_pack_internal.h - compresses columns, each with the method that suits it.
 *
 * zstd first searches for matches with earlier bytes and then entropy-codes the rest. In columns of
 * times, sizes or unordered addresses the match search takes most of the time and finds only short
 * matches, which save nothing or even cost bytes. Such columns are only entropy-coded. The decision
 * is made by a trial of both methods. It is repeated after HL_PACK_TRIAL_INTERVAL chunks, or
 * earlier if the content of the column has changed. It depends only on the bytes, so the same
 * columns always give the same file. Readers see no difference: both results are zstd frames.
 */
#ifndef HL_TRACE_FORMAT_COLUMN_PACK_INTERNAL_H
#define HL_TRACE_FORMAT_COLUMN_PACK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_PACK_TRIAL_INTERVAL 16u
#define HL_PACK_IDS            128u /* columns with larger ids are always packed with matches */

struct hl_packer {
	struct ZSTD_CCtx_s *match_ctx;
	struct ZSTD_CCtx_s *entropy_ctx; /* NULL: this zstd version cannot do it */
	bool borrowed;                   /* the contexts belong to another packer */
	struct hl_pack_method {
		bool entropy_only;
		uint8_t wait;   /* calls until both methods are tried again */
		uint32_t share; /* packed / unpacked length at the last trial, in 1/65536 */
	} methods[HL_PACK_IDS];
};

/* Returns 0 or -ENOMEM. hl_packer_fini must be called in either case. */
int hl_packer_init(struct hl_packer *p);
void hl_packer_fini(struct hl_packer *p);
/* Makes a packer with decisions of its own that uses the contexts of `from`, which must outlive
 * it. */
void hl_packer_borrow(struct hl_packer *p, const struct hl_packer *from);
/* The size of the output buffer for len bytes: enough for either method and for a trial of both. */
size_t hl_pack_bound(size_t len);
/* Packs len bytes to `to`. Returns the packed length, or len if packing saves nothing; then the
 * content of `to` is undefined. */
size_t hl_pack(
	struct hl_packer *p, uint16_t id, uint8_t *to, size_t room, const uint8_t *raw, size_t len);

#endif
