/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - exports a trace to the formats of other viewers.
 *
 * A format is a row in formats.c with one function that writes it. All values come from the model:
 * formats of sums use hl_export_query() or hl_export_tree(), formats of single allocations pass
 * callbacks to hl_export_lifetimes(). So range, filter and quantity have the same meaning in all
 * formats. No format keeps more in memory than stacks, names and the blocks that are live at one
 * time.
 */
#ifndef HL_VIEWS_EXPORT_EXPORT_H
#define HL_VIEWS_EXPORT_EXPORT_H

#include <stdio.h>

#include "model/views/filtered_peak.h"
#include "model/stack/flat_table.h"
#include "model/scan/lifetimes.h"
#include "model/query/query.h"
#include "model/stack/tree.h"

/* Maximum number of tables in a format. */
#define HL_EXPORT_TABLES 3

/* One export: the request and the output. */
struct hl_export_job {
	struct hl_model *m;
	FILE *out; /* write errors stay in ferror() */
	/* For formats with several tables, a file for each; NULL: the table is not wanted. */
	FILE *tables[HL_EXPORT_TABLES];
	struct hl_query query; /* its filter and suppressions belong to the caller */
	/* Of the caller, never NULL: for blocks that are live at the end, if `query` is about
	 * something else. */
	struct hl_suppressions *suppressions;
	bool quantity_given; /* a quantity was given; otherwise the format's default is used */
	bool own_peak; /* `query.to` is the peak of the selected blocks, not of the whole heap */
	const char *title;       /* description for a title: "live at the peak, by thread" */
	const char *filter_text; /* the filter as one expression; "" without one */
	const char *pool;        /* the pool pattern of the query as the user gave it; NULL: none */
	bool by_blocks;          /* --cost=blocks: for formats with only one cost */
	bool grouped;            /* --group was given */
	bool full_stacks;        /* formats for people: fold nothing */
	enum hl_group group;
	/* Of several processes in one file, one after the other: "sort (pid 123)", the outermost
	 * frame. NULL: the file has one process, which is first and last. */
	const char *process;
	bool is_first, is_last;
	uint64_t start_unix_ns; /* the earliest start of all */
	/* The state of the format between two processes: *kept is NULL before the first. NULL:
	 * there is one process. */
	void **kept;

	struct hl_aggregated *aggregated; /* the aggregated blocks; NULL: there are none */
	struct hl_peak peak;              /* of the selected blocks, when it has been found */
	bool has_peak;

	/* The results. */
	uint64_t to_ns;     /* the time of the values */
	bool before_damage; /* it is not the requested time */
	bool lacks_peak;    /* the peak of the run is before a base and not in the output */
};

/* The default quantity of a format. */
enum hl_export_default {
	HL_EXPORT_PEAK, /* as `report`: the blocks live at the peak */
	HL_EXPORT_ALL,  /* every allocation of the run */
};

struct hl_export_format {
	const char *name;
	const char *suffix; /* suffix of its files: ".pb.gz" */
	const char *viewer; /* programs that read it, for the list */
	enum hl_export_default default_quantity;
	bool binary;     /* not for a terminal, and already compressed if possible */
	bool for_people; /* for people: names may be shortened */
	bool whole_run;  /* shows the whole run: quantities do not apply, only a filter does */
	bool heap_only;  /* shows values over time, which are known only for the heap: no --pool */
	bool per_allocation;   /* exports single allocations, not sums, except for a table */
	bool several;          /* a file may have several processes */
	bool unweighted;       /* cannot express the weight of a sample */
	bool has_aggregated;   /* exports sums in addition to single allocations */
	bool explains_unknown; /* the output itself explains which data the trace lacks */
	unsigned groups;       /* bit mask of 1 << enum hl_group: the groups that it supports */
	bool table_if_grouped; /* with --group it is report's table of sums; otherwise groups are
				  frames */
	const char *const *tables; /* names, ended by NULL, if each is a separate file */
	/* Returns 0, or -errno with hl_model_error(). */
	int (*write)(struct hl_export_job *x);
	/* Frees what `write` keeps between processes, if the last one is not written. NULL: it
	 * keeps nothing. */
	void (*drop)(void *kept);
};

/* Ends with a row without a name. */
extern const struct hl_export_format hl_export_formats[];
const struct hl_export_format *hl_export_find(const char *name);

/* Writes the export. Returns 0, or -errno with hl_model_error(); write errors are in
 * ferror(x->out). */
int hl_export_write(const struct hl_export_format *f, struct hl_export_job *x);

#endif
