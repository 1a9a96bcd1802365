/* SPDX-License-Identifier: Apache-2.0 */
/* report_parts.c - see report_parts.h. */
#include "cli/report/report_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request/request.h"

/* Terms of a filter that depend on the allocation alone. All others may need a free, or an
 * allocation, that is in another part. */
#define SUBJECTS_OF_ALLOCATION                                                                     \
	((HL_FILTER_STACK & ~HL_FILTER_GROUP) | HL_FILTER_OP | HL_FILTER_FUNC | HL_FILTER_THREAD | \
		HL_FILTER_SIZE | HL_FILTER_TIME | HL_FILTER_ADDR | HL_FILTER_TAG)

int hl_part_identify(struct hl_part *p, const struct hl_model *m)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;

	p->program = strdup(meta->program);
	p->pid = meta->pid;
	p->start_ns = meta->start_unix_ns;
	p->base = *hl_model_base(m);
	return p->program ? 0 : -ENOMEM;
}

void hl_part_fini(struct hl_part *p)
{
	free(p->program);
	p->program = NULL;
}

enum hl_parts_rule hl_parts_rule(const struct hl_plan *p)
{
	const struct hl_plan_part *part = &p->parts.data[0];

	if (!(part->view->flags & HL_VIEW_QUANTITY))
		return HL_PARTS_NO_SUM;
	switch (part->quantity) {
	case HL_REQUEST_LEAKS:
	case HL_REQUEST_AT:
		return HL_PARTS_NEWEST;
	case HL_REQUEST_DEFAULT:
	case HL_REQUEST_PEAK:
		return HL_PARTS_LARGEST;
	case HL_REQUEST_ALLOCATED:
		return p->request->ranged || (p->filter && hl_filter_subjects(p->filter) &
								   ~SUBJECTS_OF_ALLOCATION)
			       ? HL_PARTS_NO_SUM
			       : HL_PARTS_ALL;
	case HL_REQUEST_TEMPORARY:
	case HL_REQUEST_GROWTH:
		break;
	}
	return HL_PARTS_NO_SUM;
}

static bool is_same_process(const struct hl_part *a, const struct hl_part *b)
{
	return a->program && b->program && (a->base.is_late || b->base.is_late) &&
	       a->pid == b->pid && a->start_ns == b->start_ns &&
	       strcmp(a->program, b->program) == 0;
}

/* Is the value of b the one of its process? a is the earlier operand. */
static bool replaces(const struct hl_part *a, const struct hl_part *b)
{
	if (a->has_times != b->has_times)
		return b->has_times;
	if (b->rule == HL_PARTS_LARGEST)
		return b->value.bytes >= a->value.bytes;
	return b->base.time_ns >= a->base.time_ns;
}

/* parts[first] is the first operand of its process. */
static void add_process(struct hl_part **parts, size_t n, size_t first, struct hl_parts_sum *sum)
{
	struct hl_part *best = parts[first];
	struct hl_value all = best->value;
	bool is_read = best->is_read;
	size_t n_parts = 1;

	for (size_t i = first + 1; i < n; i++) {
		struct hl_part *p = parts[i];

		if (p->counted || !is_same_process(parts[first], p))
			continue;
		p->counted = true;
		n_parts++;
		is_read &= p->is_read;
		hl_value_add(&all, &p->value);
		if (best->rule == HL_PARTS_NO_SUM)
			continue;
		p->joined = !replaces(best, p);
		if (!p->joined) {
			best->joined = true;
			best = p;
		}
	}
	if (best->rule == HL_PARTS_NEWEST)
		is_read = best->is_read;
	best->shown = best->rule == HL_PARTS_ALL ? all : best->value;
	sum->is_exact &= n_parts == 1 || best->rule != HL_PARTS_NO_SUM;
	sum->rule = n_parts > 1 ? best->rule : sum->rule;
	sum->processes++;
	sum->processes_read += is_read;
	if (is_read)
		hl_value_add(&sum->total, &best->shown);
}

void hl_parts_add_up(struct hl_part **parts, size_t n, struct hl_parts_sum *sum)
{
	*sum = (struct hl_parts_sum){.files = n, .is_exact = true};
	for (size_t i = 0; i < n; i++) {
		sum->files_read += parts[i]->is_read;
		if (!parts[i]->counted)
			add_process(parts, n, i, sum);
	}
}

const char *hl_parts_rule_words(const struct hl_parts_sum *sum)
{
	static const char *const words[] = {
		[HL_PARTS_NEWEST] = "each as in its newest file",
		[HL_PARTS_LARGEST] = "each as in its file with the highest peak",
		[HL_PARTS_ALL] = "all files added up",
		[HL_PARTS_NO_SUM] =
			"without a total: some files are of one process, and these values "
			"cannot be added up over its files",
	};

	return sum->files == sum->processes ? "each as above" : words[sum->rule];
}
