/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_name.c - names that a program gives to its threads. A thread that names itself sends the
 * name. A thread that names another one cannot find out the tid of that thread from its handle;
 * the collector is then asked to look up the name.
 */
#include <pthread.h>
#include <string.h>

#include "record/interpose/next.h"
#include "record/emit/emit.h"
#include "record/hooks/thread_name.h"
#include "ring/ring_record.h"

#define KERNEL_NAME 15 /* the kernel refuses or truncates longer names */

hl_export int pthread_setname_np(pthread_t thread, const char *name);

static int (*next_setname)(pthread_t, const char *);

void hl_thread_name_resolve(void)
{
	next_setname = (int (*)(pthread_t, const char *))hl_next_find("pthread_setname_np");
}

void hl_thread_name_self(const char *name)
{
	char text[KERNEL_NAME + 1] = {0};

	memcpy(text, name, strnlen(name, KERNEL_NAME));
	hl_emit_mark(HL_MARK_THREAD_NAME, text);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
	int err;

	if (!next_setname)
		hl_thread_name_resolve();
	err = next_setname(thread, name);
	if (err)
		return err;
	if (pthread_equal(thread, pthread_self()))
		hl_thread_name_self(name);
	else
		hl_emit_mark(HL_MARK_OTHER_THREAD_NAME, NULL);
	return 0;
}
