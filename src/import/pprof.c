#include <errno.h>
#include "import/import_internal.h"
int hl_import_pprof(struct hl_import *im, const uint8_t *head, size_t n)
{
	return hl_import_fail(im, -EBADMSG, "it is neither a recording of heaptrack nor a profile of pprof");
}
