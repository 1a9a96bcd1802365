/* pack.c - see pack_internal.h. */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode; not to be there is no error */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/bits.h"
#include "trace/pack_internal.h"

#define LEVEL     1
#define LEAST     32u   /* no frame of zstd's is worth it below this */
#define TRY_LEAST 1024u /* below this it does not matter how */
#define WORTH     16u   /* matches must spare one byte in so many */
#define CHANGED   8u    /* by one in so many: try again */
#define NO_MATCHES \
	(-100000) /* a level at which next to none are looked for; zstd takes its least */

/* NULL: without. */
static ZSTD_CCtx *make_counting(void)
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
	p->matching = ZSTD_createCCtx();
	p->counting = make_counting();
	return p->matching ? 0 : -ENOMEM;
}

void hl_packer_borrow(struct hl_packer *p, const struct hl_packer *from)
{
	*p = (struct hl_packer){
		.matching = from->matching, .counting = from->counting, .borrowed = true};
}

void hl_packer_fini(struct hl_packer *p)
{
	if (p->borrowed)
		return;
	ZSTD_freeCCtx(p->matching);
	ZSTD_freeCCtx(p->counting);
}

static size_t by_matches(
	struct hl_packer *p, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	size_t n = ZSTD_compressCCtx(p->matching, to, room, raw, len, LEVEL);

	return ZSTD_isError(n) || n > len ? len : n;
}

static size_t by_counts(
	struct hl_packer *p, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	size_t n = ZSTD_compress2(p->counting, to, room, raw, len);

	return ZSTD_isError(n) || n > len ? len : n;
}

size_t hl_pack_room(size_t len)
{
	return len + ZSTD_compressBound(len);
}

static uint32_t share_of(size_t n, size_t len)
{
	return (uint32_t)((uint64_t)n * 65536 / len);
}

/* Both, one behind the other; what is in the end in `to` is the better one. */
static size_t try_both(struct hl_packer *p, struct hl_pack_way *way, uint8_t *to, size_t room,
	const uint8_t *raw, size_t len)
{
	size_t matched = by_matches(p, to, room, raw, len);
	size_t counted = by_counts(p, to + matched, room - matched, raw, len);

	way->counts = counted <= matched + matched / WORTH;
	way->wait = HL_PACK_AGAIN;
	way->share = share_of(counted, len);
	if (!way->counts)
		return matched;
	memmove(to, to + matched, counted);
	return counted;
}

/* As it was decided; but who becomes better or worse at being counted has changed, and may be full
 * of matches by now. */
static size_t as_before(struct hl_packer *p, struct hl_pack_way *way, uint8_t *to, size_t room,
	const uint8_t *raw, size_t len)
{
	uint32_t share;
	size_t n;

	way->wait--;
	if (!way->counts)
		return by_matches(p, to, room, raw, len);
	n = by_counts(p, to, room, raw, len);
	share = share_of(n, len);
	if (share > way->share + way->share / CHANGED || share < way->share - way->share / CHANGED)
		way->wait = 0;
	return n;
}

size_t hl_pack(
	struct hl_packer *p, uint16_t id, uint8_t *to, size_t room, const uint8_t *raw, size_t len)
{
	struct hl_pack_way *way;

	if (len < LEAST)
		return len;
	if (len < TRY_LEAST || id >= HL_PACK_IDS || !p->counting)
		return by_matches(p, to, room, raw, len);
	way = &p->ways[id];
	return way->wait ? as_before(p, way, to, room, raw, len)
			 : try_both(p, way, to, room, raw, len);
}
