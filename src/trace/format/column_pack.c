/* SPDX-License-Identifier: Apache-2.0 */
/* column_pack.c - see column_pack_internal.h. */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode; it may fail */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/bits.h"
#include "trace/format/column_pack_internal.h"

#define LEVEL         1
#define MIN_LEN       32u       /* shorter columns are stored: a zstd frame does not pay */
#define MIN_TRIAL_LEN 1024u     /* shorter columns: the method does not matter */
#define MATCH_GAIN    16u       /* matches must save at least 1/16 of the bytes */
#define SHARE_CHANGE  8u        /* a change of the share by 1/8 causes a new trial */
#define NO_MATCHES    (-100000) /* level that finds almost no matches; zstd clamps it */

/* Returns NULL if this zstd cannot do it. */
static ZSTD_CCtx *new_entropy_context(void)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	if (c && !ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, NO_MATCHES)) &&
		!ZSTD_isError(
			ZSTD_CCtx_setParameter(c, ZSTD_c_literalCompressionMode, ZSTD_ps_enable)))
		return c;
	ZSTD_freeCCtx(c);
	return NULL;
}

int hl_packer_init(struct hl_packer *p)
{
	memset(p, 0, sizeof(*p));
	p->match_ctx = ZSTD_createCCtx();
	p->entropy_ctx = new_entropy_context();
	return p->match_ctx ? 0 : -ENOMEM;
}

void hl_packer_borrow(struct hl_packer *p, const struct hl_packer *from)
{
	*p = (struct hl_packer){
		.match_ctx = from->match_ctx, .entropy_ctx = from->entropy_ctx, .borrowed = true};
}

void hl_packer_fini(struct hl_packer *p)
{
	if (p->borrowed)
		return;
	ZSTD_freeCCtx(p->match_ctx);
	ZSTD_freeCCtx(p->entropy_ctx);
}

static size_t pack_with_matches(
	struct hl_packer *p, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	size_t n = ZSTD_compressCCtx(p->match_ctx, to, room, raw, len, LEVEL);

	return ZSTD_isError(n) || n > len ? len : n;
}

static size_t pack_entropy_only(
	struct hl_packer *p, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	size_t n = ZSTD_compress2(p->entropy_ctx, to, room, raw, len);

	return ZSTD_isError(n) || n > len ? len : n;
}

size_t hl_pack_bound(size_t len)
{
	return len + ZSTD_compressBound(len);
}

static uint32_t compute_share(size_t n, size_t len)
{
	return (uint32_t)((uint64_t)n * 65536 / len);
}

/* Tries both methods, the second result behind the first. The better one ends up at the start of
 * `to`. */
static size_t try_both(struct hl_packer *p, struct hl_pack_method *method, uint8_t *to, size_t room,
	const uint8_t *raw, size_t len)
{
	size_t match_len = pack_with_matches(p, to, room, raw, len);
	size_t entropy_len = pack_entropy_only(p, to + match_len, room - match_len, raw, len);

	method->entropy_only = entropy_len <= match_len + match_len / MATCH_GAIN;
	method->wait = HL_PACK_TRIAL_INTERVAL;
	method->share = compute_share(entropy_len, len);
	if (!method->entropy_only)
		return match_len;
	memmove(to, to + match_len, entropy_len);
	return entropy_len;
}

/* Packs with the method of the last trial. If the share of an entropy-only column changes, the
 * content has changed and may contain matches now; then the next call tries both again. */
static size_t pack_as_decided(struct hl_packer *p, struct hl_pack_method *method, uint8_t *to,
	size_t room, const uint8_t *raw, size_t len)
{
	uint32_t share;
	size_t n;

	method->wait--;
	if (!method->entropy_only)
		return pack_with_matches(p, to, room, raw, len);
	n = pack_entropy_only(p, to, room, raw, len);
	share = compute_share(n, len);
	if (share > method->share + method->share / SHARE_CHANGE ||
		share < method->share - method->share / SHARE_CHANGE)
		method->wait = 0;
	return n;
}

size_t hl_pack(
	struct hl_packer *p, uint16_t id, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	struct hl_pack_method *method;

	if (len < MIN_LEN)
		return len;
	if (len < MIN_TRIAL_LEN || id >= HL_PACK_IDS || !p->entropy_ctx)
		return pack_with_matches(p, to, room, raw, len);
	method = &p->methods[id];
	return method->wait ? pack_as_decided(p, method, to, room, raw, len)
			    : try_both(p, method, to, room, raw, len);
}
