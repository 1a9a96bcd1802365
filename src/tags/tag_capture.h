/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_capture.h - makes a report from the counters in the memory of this program or of another one.
 */
#ifndef HL_TAGS_TAG_CAPTURE_H
#define HL_TAGS_TAG_CAPTURE_H

#include "tags/tag_report.h"

struct hl_tags_source {
	/* Copies forward, from the first byte to the last. 0 or -errno. */
	int (*read)(void *arg, uint64_t addr, void *to, size_t n);
	/* Zeroed memory that lives as long as the report; NULL: there is none. */
	void *(*alloc)(void *arg, size_t bytes);
	void *arg;
	bool in_place;  /* this process's own memory is read: names need no copy */
	uint32_t tries; /* attempts to read a node while it is not being written */
};

/*
 * Fills the rows and threads of r from the counters whose head is at an address, and calls
 * hl_tag_report_finish(). All data that is read is untrusted. Returns 0; -ENODATA: this program
 * does not count; -EPROTO: counters of another version; -EBADMSG: they are corrupt; else the error
 * of read(), or -ENOMEM.
 */
int hl_tags_capture(const struct hl_tags_source *s, uint64_t head, struct hl_tag_report *r);

#endif
