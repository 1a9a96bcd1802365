/* SPDX-License-Identifier: Apache-2.0 */
/* talk_more.c - the header in a second source file. */
#include "heaplapse.h"

#ifdef __cplusplus
extern "C"
#endif
	void
	talk_more(void);

void talk_more(void)
{
	heaplapse_mark("more");
}
