/*
 * export.h - a trace in the formats of other people's viewers.
 *
 * A format is a row in formats.c with one function that writes it. All numbers come from the model:
 * formats of sums ask hl_export_ask() or hl_export_tree(), formats of single allocations hand
 * functions to hl_export_lives(). So range, filter and quantity mean the same in all of them. None
 * holds more in memory than stacks, names and the blocks that are alive at one time.
 */
#ifndef HL_VIEWS_EXPORT_EXPORT_H
#define HL_VIEWS_EXPORT_EXPORT_H

#include <stdio.h>

#include "model/curve.h"
#include "model/group.h"
#include "model/lives.h"
#include "model/query.h"
#include "model/tree.h"

/* The most that a format has. */
#define HL_EXPORT_TABLES 3

/* One request: what is asked, and where the answer goes. */
struct hl_export_job {
	struct hl_model *m;
	FILE *out; /* its errors stay in it */
	/* Of formats with several tables: a file for each; NULL: it is not wanted. */
	FILE *tables[HL_EXPORT_TABLES];
	struct hl_query query; /* the caller's filter and suppressions */
	bool asked;            /* a quantity was named; else it is the format's own */
	bool own_peak;         /* `to` is the peak of what is chosen, not of the whole heap */
	const char *what;      /* what is asked, for a title: "live at the peak, by thread" */
	const char *choice;    /* the filter as it was asked for; "" without one */
	const char *pool;      /* the name of the query's pools as it was asked for; NULL: none */
	bool by_blocks;        /* --cost=blocks: where a format shows one cost only */
	bool grouped;          /* --group was given */
	enum hl_group group;

	struct hl_rest *rest; /* some blocks are in sums alone: these; NULL: none are */
	struct hl_peak peak;  /* of what is chosen, once it has been found */
	bool has_peak;

	/* What came of it. */
	uint64_t to_ns; /* what the numbers are of, if not what was asked for: */
	bool moved;
};

/* What a format is about when no quantity is named. */
enum hl_export_default {
	HL_EXPORT_PEAK, /* as `report`: what was live at the peak */
	HL_EXPORT_ALL,  /* every allocation of the run */
};

struct hl_export_format {
	const char *name;
	const char *suffix; /* that its files have: ".pb.gz" */
	const char *viewer; /* who reads it, for the list */
	enum hl_export_default usual;
	bool binary;     /* not for a terminal, and packed already if it can be */
	bool people;     /* it shows names to people: they may be shortened */
	bool course;     /* it is about the whole run, whatever quantity: only a filter chooses */
	bool heap;       /* what it shows over time is known of the heap alone: no --pool */
	bool single;     /* it is of single allocations, not of sums; but for a table */
	bool unweighted; /* it has no place for what a sample stands for */
	bool rests;      /* beside single allocations it has a place for sums */
	bool excuses;    /* it says in its place what the trace cannot tell */
	unsigned groups; /* 1 << enum hl_group that it can be given */
	bool tabled;     /* with a group it is report's table, of sums; else groups are frames */
	const char *const *tables; /* their names, ended by NULL, if each is a file of its own */
	/* 0 or -errno with hl_model_error(). */
	int (*write)(struct hl_export_job *x);
};

/* Ends with a row without a name. */
extern const struct hl_export_format hl_export_formats[];
const struct hl_export_format *hl_export_find(const char *name);

/* Writes it. 0 or -errno with hl_model_error(); what did not arrive is in ferror(x->out). */
int hl_export_write(const struct hl_export_format *f, struct hl_export_job *x);

#endif
