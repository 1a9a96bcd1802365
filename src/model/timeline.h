/*
 * timeline.h - live bytes over the run, in columns.
 */
#ifndef HL_MODEL_TIMELINE_H
#define HL_MODEL_TIMELINE_H

#include "model/query.h"

struct hl_column {
	uint64_t max_bytes; /* the most that was live at any event in it, or when it began */
	uint64_t end_bytes; /* when it ended */
	bool lost;          /* a part of it is not in the file */
};

struct hl_peak;

/*
 * n columns of equal length from the start to the end, and the peak of what they show. Decodes only
 * chunks that lie in more than one column; with a filter (bound here) see curve.h. 0 or -errno with
 * hl_model_error().
 */
int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_column *columns, size_t n,
	struct hl_peak *peak);
/* It is going to be asked: see question.h. */
void hl_timeline_expect(struct hl_model *m, struct hl_filter *filter, size_t n);
/* In which column a time is. Its end belongs to it, as it does to --at; so does the start of all.
 */
size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n);

#endif
