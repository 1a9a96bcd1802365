/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_dlclose.c - a preload behind the recorder: dlclose() returns long after the library is
 * unmapped, so that another thread has time to load another library at the same address.
 */
#include <dlfcn.h>
#include <unistd.h>

int dlclose(void *handle)
{
	int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	int err = real(handle);

	usleep(20000);
	return err;
}
