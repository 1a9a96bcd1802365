/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nocfi.c - code without unwind tables. With a frame pointer the complete chain must be found;
 * without one the frames up to that code, and no crash. The result is compared with the known
 * chain.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>

#include "../truth.h"

struct unwind_truth unwind_truth;

/* Three functions that call their argument; none has a table. */
extern char with_fp[], with_fp_end[], without_fp[], without_fp_end[], wild_fp[], wild_fp_end[];
__asm__(".text\n"
	".globl with_fp, with_fp_end, without_fp, without_fp_end, wild_fp, wild_fp_end\n"
	".type with_fp, @function\n"
	"with_fp: push %rbp; mov %rsp, %rbp; sub $48, %rsp; call *%rdi; leave; ret\n"
	"with_fp_end: .skip 64, 0x90\n"
	".type without_fp, @function\n"
	"without_fp: sub $40, %rsp; call *%rdi; add $40, %rsp; ret\n"
	"without_fp_end: .skip 64, 0x90\n"
	".type wild_fp, @function\n"
	"wild_fp: push %rbp; push %rbx; mov %rsi, %rbp; sub $8, %rsp; call *%rdi; add $8, %rsp; "
	"pop %rbx; pop %rbp; ret\n"
	"wild_fp_end: .skip 64, 0x90\n");

__attribute__((noinline)) static void leaf(void)
{
	void *p = malloc(21);

	*(volatile char *)p = 1;
	free(p);
}

static void set_function(int i, const void *lo, const void *hi)
{
	unwind_truth.functions[i] = (struct unwind_function){lo, hi};
}

typedef void (*caller_fn)(void (*)(void), unsigned long);

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void by_fp(
	caller_fn fn, const void *end)
{
	set_function(0, (void *)by_fp, NULL);
	set_function(1, (void *)fn, end);
	set_function(2, (void *)leaf, NULL);
	unwind_truth.depth = 3;
	fn(leaf, 0);
	unwind_truth.depth = 0;
}

__attribute__((noinline)) static void by_chance(caller_fn fn, const void *end, unsigned long fp)
{
	set_function(0, (void *)fn, end);
	set_function(1, (void *)leaf, NULL);
	unwind_truth.depth = 2;
	fn(leaf, fp);
	unwind_truth.depth = 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	size_t size = (size_t)(with_fp_end - with_fp);
	char *jit = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long local[4] = {0}, sp = (unsigned long)local;
	unsigned long wild[] = {0, 8, 1, 0x7fffffffffff, 0xffffffffffffffff, 0xfffffffffffffff8,
		0x4141414141414141, sp & ~4095ul, sp + 1, sp + 4096, sp + (1ul << 20),
		sp + (1ul << 30), (unsigned long)jit, (unsigned long)main, (unsigned long)local,
		0x7fff00000000};

	memcpy(jit + 128, with_fp, size);
	for (int r = 0; r < rounds; r++) {
		by_fp((caller_fn)(void *)with_fp, with_fp_end);
		by_fp((caller_fn)(void *)(jit + 128), jit + 128 + size);
		by_chance((caller_fn)(void *)without_fp, without_fp_end, 0);
		for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
			by_chance((caller_fn)(void *)wild_fp, wild_fp_end, wild[i]);
	}
	return 0;
}
