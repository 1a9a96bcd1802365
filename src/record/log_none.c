/* log_none.c - no log; see log.h. */
#include "record/log.h"

void hl_log(const char *what, uint64_t number)
{
}

void hl_log_to(const char *path)
{
}
