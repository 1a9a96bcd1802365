/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.cpp - a C++ program that does not allocate before it opens the library in argv[1]. */
#include <dlfcn.h>
#include <exception>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* makes this a C++ program, so that libstdc++ is loaded from the start */
	if (argc < 2 || !std::get_terminate())
		return 2;
	alarm(10);
	return dlopen(argv[1], RTLD_NOW) ? 0 : 1;
}
