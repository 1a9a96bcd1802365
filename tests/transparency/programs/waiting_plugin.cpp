/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting_plugin.cpp - a library whose constructor waits for a thread while it holds the loader's
 * lock.
 *
 * The thread is the first of the program to use these functions: if one of them calls into the
 * loader, the program deadlocks.
 */
#include <new>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *use_functions(void *)
{
	constexpr std::align_val_t align{64};

	::operator delete(::operator new(100));
	::operator delete[](::operator new[](100));
	::operator delete(::operator new(100, std::nothrow), std::nothrow);
	::operator delete[](::operator new[](100, std::nothrow), std::nothrow);
	::operator delete(::operator new(100), 100);
	::operator delete[](::operator new[](100), 100);
	::operator delete(::operator new(128, align), align);
	::operator delete[](::operator new[](128, align), align);
	::operator delete(::operator new(128, align, std::nothrow), align, std::nothrow);
	::operator delete[](::operator new[](128, align, std::nothrow), align, std::nothrow);
	::operator delete(::operator new(128, align), 128, align);
	::operator delete[](::operator new[](128, align), 128, align);
	free(realloc(malloc(10), 100));
	prctl(PR_SET_NAME, "waited for", 0, 0, 0);
	return reinterpret_cast<void *>(syscall(SYS_gettid));
}

__attribute__((constructor)) static void start()
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, use_functions, nullptr) ||
		pthread_join(thread, nullptr))
		abort();
}
