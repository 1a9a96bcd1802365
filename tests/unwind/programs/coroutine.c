/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine.c - swapcontext among many small stacks, some of which end, are unmapped and created
 * anew.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MAX  40
#define SIZE (64 * 1024)

static ucontext_t home, task[MAX];
static char *stacks[MAX];
static int current, done[MAX];
static volatile int sink;

static void use_block(void *p)
{
	*(volatile char *)p = 1;
	sink++;
	free(p);
}

__attribute__((noinline)) static void work(int depth, int id)
{
	volatile char pad[56];

	pad[depth] = 1;
	use_block(malloc((size_t)(depth + id) + 1));
	if (depth > 0)
		work(depth - 1, id);
	swapcontext(&task[id], &home);
	use_block(malloc(19));
	sink += pad[0];
}

static void run_task(void)
{
	int id = current;

	for (int i = 0; i < 6; i++)
		work(i + id % 9, id);
	done[id] = 1;
}

static void start_task(int id, size_t size)
{
	done[id] = 0;
	stacks[id] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&task[id]);
	task[id].uc_stack.ss_sp = stacks[id];
	task[id].uc_stack.ss_size = size;
	task[id].uc_link = &home;
	makecontext(&task[id], run_task, 0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;

	for (int r = 0; r < rounds; r++) {
		int n = r % 3 == 0 ? MAX : 12;
		size_t size = r % 2 ? SIZE : 2 * SIZE;

		for (int i = 0; i < n; i++)
			start_task(i, size);
		for (int turn = 0; turn < 40; turn++) {
			for (current = 0; current < n; current++) {
				if (!done[current])
					swapcontext(&home, &task[current]);
			}
			use_block(malloc(23));
		}
		for (int i = 0; i < n; i++)
			munmap(stacks[i], size);
	}
	return 0;
}
