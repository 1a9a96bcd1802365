/*
 * names.c - the names that a program gives its threads. Those that a thread gives itself are
 * written where they are given. Which thread another one names cannot be asked of its handle: then
 * the collector is told that there is something to look up.
 */
#include <pthread.h>
#include <string.h>

#include "record/real.h"
#include "record/recorder.h"
#include "ring/record.h"

#define KERNEL_NAME 15 /* the rest is refused or cut */

hl_export int pthread_setname_np(pthread_t thread, const char *name);

static int (*next_setname)(pthread_t, const char *);

void hl_names_resolve(void)
{
	next_setname = (int (*)(pthread_t, const char *))hl_real_find("pthread_setname_np");
}

void hl_names_self(const char *name)
{
	char text[KERNEL_NAME + 1] = {0};

	memcpy(text, name, strnlen(name, KERNEL_NAME));
	hl_emit_mark(HL_MARK_THREAD_NAME, text);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
	int err;

	if (!next_setname)
		hl_names_resolve();
	err = next_setname(thread, name);
	if (err)
		return err;
	if (pthread_equal(thread, pthread_self()))
		hl_names_self(name);
	else
		hl_emit_mark(HL_MARK_OTHERS_NAME, NULL);
	return 0;
}
