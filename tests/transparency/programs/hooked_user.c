/* SPDX-License-Identifier: Apache-2.0 */
/* hooked_user.c - calls the functions that hooked.c hooks, and ends by _exit. */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	char *const none[] = {NULL};
	char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p = mremap(p, 65536, 131072, MREMAP_MAYMOVE);
	munmap(p, 131072);
	prctl(PR_SET_NAME, "hooked", 0, 0, 0);
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	execve("/nowhere", none, none);
	_exit(7);
}
