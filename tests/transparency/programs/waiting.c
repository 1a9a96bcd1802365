/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.c - a program in C that opens the library in argv[1]. */
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	alarm(10);
	return argc > 1 && dlopen(argv[1], RTLD_NOW) ? 0 : 1;
}
