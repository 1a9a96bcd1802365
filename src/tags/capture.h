/*
 * capture.h - a report made from the counters in a program's memory: one's own, or another's.
 */
#ifndef HL_TAGS_CAPTURE_H
#define HL_TAGS_CAPTURE_H

#include "tags/report.h"

struct hl_tags_source {
	/* Copies forward, from the first byte to the last. 0 or -errno. */
	int (*read)(void *arg, uint64_t addr, void *to, size_t n);
	/* Zeroed memory that lives as long as the report; NULL: there is none. */
	void *(*more)(void *arg, size_t bytes);
	void *arg;
	bool in_place;  /* what is read is one's own: names need no copy */
	uint32_t tries; /* to find a node at rest */
};

/*
 * Rows and threads of the counters whose head is at an address, settled. Nothing that is read is
 * believed. 0; -ENODATA: this program does not count; -EPROTO: counters of another version;
 * -EBADMSG: they have been written over; else what read() said, -ENOMEM.
 */
int hl_tags_capture(const struct hl_tags_source *s, uint64_t head, struct hl_tag_report *r);

#endif
