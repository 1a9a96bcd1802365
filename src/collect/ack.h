/*
 * ack.h - tells a process that waits at its exit that its trace is complete.
 *
 * Either thread may do it: through a mapping of its own, for the region's may be replaced at any
 * time by the first thread (hl_region_is_over()).
 */
#ifndef HL_COLLECT_ACK_H
#define HL_COLLECT_ACK_H

#include <stdint.h>

/* Who waits: the owner `claim` of this ring. 0: nobody. */
struct hl_ack {
	uint32_t ring, claim;
};

/* 0 or -errno. Nothing is done for nobody, nor when the region is sealed: then nobody maps it. */
int hl_ack_give(int memfd, const struct hl_ack *ack);

#endif
