/* tags_trace.c - the tags of a trace, as a book. Traces do not hold any yet. */
#include <errno.h>

#include "model/tags.h"

int hl_tags_from_trace(struct hl_model *m, struct hl_tag_book *b)
{
	return -ENODATA;
}
