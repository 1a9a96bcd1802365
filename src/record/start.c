/* start.c - where the recorder begins. */
#include "base/attr.h"

hl_export int heaplapse_active;
int heaplapse_active;
