/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.h - the memory of the whole process: what each mapping holds at a moment, and over time.
 * Needs a trace of record --mmap.
 *
 * The numbers are those of the kernel (/proc/PID/smaps), in samples, about one a second. A group
 * has all mappings of one name: the parts of a library, all anonymous memory.
 */
#ifndef HL_MODEL_VIEWS_RESIDENT_H
#define HL_MODEL_VIEWS_RESIDENT_H

#include "model/model.h"
#include "model/query/pattern.h"
#include "model/views/live_timeline.h"

/* In bytes. rss = dirty + clean; anonymous memory is a part of it. */
struct hl_resident_use {
	uint64_t size, rss, anonymous, dirty, clean, swap;
};

enum hl_resident_kind {
	HL_RESIDENT_FILE,
	HL_RESIDENT_ANONYMOUS,
	HL_RESIDENT_HEAP,
	HL_RESIDENT_STACK,    /* of the first thread; those of others are anonymous */
	HL_RESIDENT_SHARED,   /* memory shared with other processes: memfd, /dev/shm, SysV */
	HL_RESIDENT_KERNEL,   /* vdso and similar */
	HL_RESIDENT_RECORDER, /* the library of heaplapse, and its rings */
	HL_RESIDENT_OTHERS,   /* the groups beyond HL_RESIDENT_GROUPS_MAX */
	HL_RESIDENT_KINDS,
};
/* "file", "anonymous" ... */
const char *hl_resident_kind_name(enum hl_resident_kind kind);

/* The trend has this many columns. */
#define HL_RESIDENT_POINTS 24
/* A process that maps more files than this: the others are one group. */
#define HL_RESIDENT_GROUPS_MAX 65536u

struct hl_resident_group {
	const char *name; /* of the mappings; "" for anonymous memory */
	enum hl_resident_kind kind;
	struct hl_resident_use use;         /* at the moment */
	uint64_t maps;                      /* at the moment */
	uint64_t first_ns, last_ns;         /* the first and the last sample that has it */
	uint64_t peak_rss, peak_ns;         /* in all samples */
	uint64_t trend[HL_RESIDENT_POINTS]; /* the highest rss in each column of the range */
};

struct hl_resident_map {
	uint64_t start, end, offset;
	const char *name;
	uint8_t perms; /* HL_MAP_* */
	struct hl_resident_use use;
	/* A mapping is the same as long as its start, name and permissions are. */
	uint64_t first_ns, last_ns, peak_rss;
};

/* All mappings together, at the end of a column. */
struct hl_resident_point {
	bool known; /* there was a sample before its end */
	struct hl_resident_use use;
};

struct hl_resident {
	struct hl_time_range range;
	uint64_t n_samples;
	uint64_t first_sample_ns, last_sample_ns;
	uint64_t time_ns; /* of the sample that is shown: the newest one before the moment, else
			     the first one */
	uint64_t read_ns; /* how long it took to read */
	struct hl_resident_use use;       /* of all mappings in it */
	uint64_t peak_rss, peak_ns;       /* of all mappings together, in all samples */
	unsigned first_known;             /* the first column of the trends that is known */
	struct hl_resident_group *groups; /* with a mapping at the moment: by rss, descending */
	size_t n_groups;
	uint64_t groups_gone;         /* number of groups that only other samples have */
	struct hl_resident_map *maps; /* at the moment, by address */
	size_t n_maps;
	bool before_damage;          /* a part of the samples could not be read */
	struct hl_map_cursor *names; /* owns the names */
};

/* Which mappings are looked at; the others are as if they were not there. */
struct hl_mapping_choice {
	struct hl_pattern *name; /* "anonymous" is memory without a name; NULL: any */
	bool by_address;         /* those that have this address */
	uint64_t address;
};

/* As a moment: that of the sample with the most resident memory. */
#define HL_RESIDENT_HIGHEST UINT64_MAX
/* Reads the samples. only: NULL: all mappings. *points gets n_points columns of the range; NULL:
 * not needed. Returns 0, or -errno with hl_model_error(); -ENODATA: the trace has no samples. The
 * caller frees *x with hl_resident_fini, after an error, too. */
int hl_resident_at(struct hl_resident *x, struct hl_model *m, uint64_t moment_ns,
	const struct hl_time_range *range, const struct hl_mapping_choice *only,
	struct hl_resident_point *points, size_t n_points);
void hl_resident_fini(struct hl_resident *x);

#endif
