#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""order_test - the order of definitions: other allocators in LD_PRELOAD, programs with their own malloc stub."""
import glob
import os
import signal

from transparency import Failure, Skip, compiled, contains, expect, expect_lossless, main

PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
void *(*volatile taken)(size_t) = malloc;   /* without -fPIE: the address of a stub in the program */
int main(void)
{
	void *p = taken(10);
	p = reallocarray(p, 3, 1000);
	fprintf(stderr, "%d\n", p != NULL);
	free(p);
	return 6;
}
'''

OPERATORS = r'''
#include <cstdio>
#include <string>
#include <vector>
int main()
{
	std::vector<std::string *> all;
	for (int i = 0; i < 1000; i++)
		all.push_back(new std::string(100, 'x'));
	for (std::string *s : all)
		delete s;
	return 5;
}
'''

# Blocks with a header of its own: a call that bypasses one of malloc and free corrupts the heap.
WRAPPER = r'''
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long n_made, n_gone;
void *malloc(size_t size)
{
	static void *(*next)(size_t);
	if (!next)
		next = dlsym(RTLD_NEXT, "malloc");
	long *p = next(size + 16);
	p[0] = 0x1234;
	n_made++;
	return p + 2;
}
void free(void *at)
{
	static void (*next)(void *);
	if (!next)
		next = dlsym(RTLD_NEXT, "free");
	long *p = at;
	if (!p)
		return;
	if (p[-2] == 0x1234) {
		p -= 2;
		p[0] = 0;
		n_gone++;
	}
	next(p);
}
__attribute__((destructor)) static void tell(void)
{
	dprintf(2, "%d %d\n", n_made > 2000, n_gone > 2000);
}
'''

# Ten blocks by new that stay, ten that are freed; and ten by malloc that are freed.
COUNTED = r'''
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#ifdef OWN_MALLOC
extern "C" void *malloc(size_t n)
{
	static void *(*next)(size_t);
	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(n);
}
#endif
#ifdef OWN_FREE
extern "C" void free(void *p)
{
	static void (*next)(void *);
	if (!next)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next(p);
}
#endif
#ifdef OWN_DELETE
void operator delete(void *p) noexcept
{
	free(p);
}
#endif
int main()
{
	void *volatile kept[10];
	for (int i = 0; i < 10; i++) {
		void *volatile p = ::operator new[](5000);
		::operator delete[](p);
		kept[i] = ::operator new(5000);
		p = malloc(6000);
		free(p);
	}
	return kept[9] == nullptr;
}
'''

# Forwards every call to the next definition.
AROUND = r'''
#include <dlfcn.h>
#include <stddef.h>
#define NEXT(type, name, ...) static type(*next)(__VA_ARGS__); if (!next) next = dlsym(RTLD_NEXT, name)
#ifndef FREE_ALONE
void *malloc(size_t n) { NEXT(void *, "malloc", size_t); return next(n); }
void *_Znwm(size_t n) { NEXT(void *, "_Znwm", size_t); return next(n); }
void _ZdlPv(void *p) { NEXT(void, "_ZdlPv", void *); next(p); }
#endif
void free(void *p) { NEXT(void, "free", void *); next(p); }
'''

# An allocator in the program itself; libc's reallocarray calls its realloc.
OWN = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n)
{
	char *p = pool + (used = (used + 31) & ~15ul);
	*(size_t *)p = n;
	used += 16 + n;
	return p + 16;
}
void free(void *p)
{
	if (p && ((char *)p < pool || (char *)p >= pool + sizeof(pool))) {
		(void)!write(2, "foreign\n", 8);
		abort();
	}
}
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	size_t old = p ? ((size_t *)p)[-2] : 0;
	if (p)
		memcpy(q, p, old < n ? old : n);
	return q;
}
int main(void)
{
	int *p = reallocarray(NULL, 10, 4);
	p = reallocarray(p, 100, 4);
	free(p);
	puts("fine");
	return 3;
}
'''

# Allocates by the named function and writes one byte too many, or ("all") uses each of them correctly.
DEBUGGED = r'''
#include <malloc.h>
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SIZE 40
static void *make(const char *how)
{
	void *p = NULL;
	if (!strcmp(how, "malloc")) return malloc(SIZE);
	if (!strcmp(how, "calloc")) return calloc(SIZE / 8, 8);
	if (!strcmp(how, "realloc")) return realloc(malloc(8), SIZE);
	if (!strcmp(how, "realloc-new")) return realloc(NULL, SIZE);
	if (!strcmp(how, "reallocarray")) return reallocarray(malloc(8), SIZE / 8, 8);
	if (!strcmp(how, "posix_memalign")) return posix_memalign(&p, 64, SIZE) ? NULL : p;
	if (!strcmp(how, "aligned_alloc")) return aligned_alloc(64, SIZE);
	if (!strcmp(how, "memalign")) return memalign(64, SIZE);
	if (!strcmp(how, "valloc")) return valloc(SIZE);
	if (!strcmp(how, "pvalloc")) return pvalloc(SIZE);
	return NULL;
}
static const char *const all[] = {"malloc", "calloc", "realloc", "realloc-new", "reallocarray", "posix_memalign",
	"aligned_alloc", "memalign", "valloc", "pvalloc"};
static void failed(enum mcheck_status status)
{
	printf("mcheck: %d\n", status);
	fflush(stdout);
	_Exit(7);
}
int main(int argc, char **argv)
{
	char *p;
	size_t size;
	static char line[64];
	setvbuf(stdout, line, _IOFBF, sizeof(line));
	if (!strcmp(argv[1], "mcheck"))
		printf("%d\n", mcheck(failed));
	if (!strcmp(argv[1], "all")) {
		mtrace();
		for (unsigned i = 0; i < 30 * (sizeof(all) / sizeof(*all)); i++) {
			p = make(all[i % (sizeof(all) / sizeof(*all))]);
			memset(p, 1, SIZE);
			if (i % 3)
				free(p);
		}
		muntrace();
		return 4;
	}
	p = make(argc > 2 ? argv[2] : argv[1]);
	if (!strcmp(argv[1], "usable"))
		printf("%zu\n", malloc_usable_size(p));
	/* MALLOC_CHECK_ has a byte of its own there; no byte of the block may look like it */
	size = malloc_usable_size(p);
	memset(p, p[size] ^ 255, size + 1);
	free(p);
	puts("not noticed");
	return 4;
}
'''
FUNCTIONS = ('malloc', 'calloc', 'realloc', 'realloc-new', 'reallocarray', 'posix_memalign', 'aligned_alloc', 'memalign', 'valloc',
             'pvalloc')


def build(*flags):
    with open('order.c', 'w', encoding='ascii') as file:
        file.write(PROGRAM)
    compiled('gcc', '-D_GNU_SOURCE', *flags, '-o', 'order', 'order.c')


def test_stub(place):
    """a program that is not position-independent and takes malloc's address is recorded"""
    build('-no-pie', '-fno-pie')
    done = place.record('./order', options=('-q', '-o', 'x.hlt'))
    expect('status and stderr', (done.status, done.err), (6, '1\n'))
    expect_lossless(place.info(), 2)


def test_behind(place):
    """behind another allocator nothing is recorded, one message says so, and the program works"""
    build()
    libraries = glob.glob('/usr/lib/x86_64-linux-gnu/libjemalloc.so.2') + \
        glob.glob('/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4')
    if not libraries:
        raise Skip('neither jemalloc nor tcmalloc is here')
    for library in libraries:
        done = place.run('./order', env={**os.environ, 'LD_PRELOAD': f'{library} {place.library}'})
        expect('status', done.status, 6)
        expect('lines', done.err.count('\n'), 2)
        contains('message', done.err, 'not recorded', 'put libheaplapse.so first')
        expect('traces', place.traces(), [])


def test_wrapper_of_operators(place):
    """operator new calls the malloc of a wrapper before the recorder, as it does bare"""
    for name, text in ('operators.cpp', OPERATORS), ('wrapper.c', WRAPPER):
        with open(name, 'w', encoding='ascii') as file:
            file.write(text)
    compiled('g++', '-o', 'operators', 'operators.cpp')
    compiled('gcc', '-D_GNU_SOURCE', '-fPIC', '-shared', '-o', 'wrapper.so', 'wrapper.c')
    wrapper = os.path.abspath('wrapper.so')
    alone = place.run('./operators', env={**os.environ, 'LD_PRELOAD': wrapper})
    expect('alone', (alone.status, alone.err), (5, '1 1\n'))
    done = place.run('./operators', env={**os.environ, 'LD_PRELOAD': f'{wrapper} {place.library}'})
    expect('status', done.status, 5)
    expect('last line', done.err.splitlines()[-1], '1 1')
    done = place.run('./operators', env={**os.environ, 'LD_PRELOAD': f'{place.library} {wrapper}', 'HEAPLAPSE_OUTPUT': 'y.hlt'})
    expect('behind us', (done.status, done.err.splitlines()[-1]), (5, '1 1'))


def write(name, text):
    with open(name, 'w', encoding='ascii') as file:
        file.write(text)


def expect_counts(place, what):
    info = place.info()
    expect_lossless(info)
    # libstdc++ keeps one for exceptions
    names = 'allocations', 'frees', 'live_blocks_end', 'implicit_frees', 'unknown_frees'
    expect(what, tuple(info['totals'][name] for name in names), (31, 20, 11, 0, 0))
    os.unlink(place.traces()[0])


def test_counted_once(place):
    """wrappers of malloc, free and the operators, in the program, before us and behind us: each block is counted once"""
    write('counted.cpp', COUNTED)
    write('around.c', AROUND)
    for flags in ('-DOWN_FREE',), ('-DOWN_MALLOC',), ('-DOWN_MALLOC', '-DOWN_FREE'), ('-DOWN_DELETE',), ():
        compiled('g++', '-fno-builtin', *flags, '-o', 'counted', 'counted.cpp')
        done = place.record('./counted', options=('-q', '-o', 'x.hlt'))
        expect(f'{flags}: status', done.status, 0)
        expect_counts(place, f'in the program: {flags}')
    for name, *flags in ('all.so',), ('free.so', '-DFREE_ALONE'):
        compiled('gcc', '-D_GNU_SOURCE', '-fno-builtin', '-fPIC', '-shared', *flags, '-o', name, 'around.c')
        done = place.record('./counted', options=('-q', '-o', 'x.hlt'), env={**os.environ, 'LD_PRELOAD': os.path.abspath(name)})
        expect(f'{name}: status', done.status, 0)
        expect_counts(place, f'behind us: {name}')
    done = place.run('./counted', env={**place.bare_env(), 'LD_PRELOAD': f'{os.path.abspath("free.so")} {place.library}'})
    expect('status', done.status, 0)
    place.infos(1)
    expect_counts(place, 'before us: free.so')


def test_own_allocator(place):
    """reallocarray of a program that brings its own malloc ends in its realloc"""
    write('own.c', OWN)
    compiled('gcc', '-D_GNU_SOURCE', '-fno-builtin', '-o', 'own', 'own.c')
    done = place.record('./own', options=('-q', '-o', 'x.hlt'))
    expect('status and output', (done.status, done.out, done.err), (3, 'fine\n', ''))


def test_unseen(place):
    """where operators are replaced, those of the library are forwarded, and the stack has no frame of the recorder"""
    write('counted.cpp', COUNTED)
    compiled('g++', '-g', '-fno-builtin', '-DOWN_DELETE', '-o', 'counted', 'counted.cpp')
    expect('status', place.record('./counted', options=('-q', '-o', 'x.hlt')).status, 0)
    nodes = place.heaplapse.report('x.hlt', '--allocated')['nodes']
    expect('frames of ours', [n['function'] for n in nodes if 'libheaplapse' in (n['module'] or '')], [])
    if not any(n['function'] == 'main' for n in nodes):
        raise Failure('main is in no stack')


def debug_library():
    found = glob.glob('/lib/*/libc_malloc_debug.so.0')
    if not found:
        raise Skip('libc_malloc_debug.so.0 is not installed')
    return found[0]


def preloaded(*libraries, **more):
    return {**os.environ, 'LD_PRELOAD': ' '.join(libraries), **more}


def run_debugged(place, *words, **variables):
    """The results with the debug library alone, then recorded with it behind heaplapse, by record
    and by LD_PRELOAD, and with it before heaplapse."""
    debug = debug_library()
    alone = place.run('./debugged', *words, env=preloaded(debug, **variables))
    yield 'alone', alone
    yield 'record', place.record('./debugged', *words, options=('-q', '-f', '-o', 'x.hlt'), env=preloaded(debug, **variables))
    for order in ((place.library, debug), (debug, place.library)):
        yield ' '.join(order), place.run('./debugged', *words,
                                         env=preloaded(*order, HEAPLAPSE_OUTPUT='%p.hlt', HEAPLAPSE_QUIET='1', **variables))


def test_malloc_check(place):
    """MALLOC_CHECK_ of libc_malloc_debug.so finds an overrun of each function, in any order of libraries"""
    write('debugged.c', DEBUGGED)
    compiled('gcc', '-D_GNU_SOURCE', '-fno-builtin', '-w', '-o', 'debugged', 'debugged.c')
    for function in FUNCTIONS:
        first, *others = run_debugged(place, function, MALLOC_CHECK_='3')
        expect(f'{function}: status alone', first[1].status, -signal.SIGABRT)
        for name, done in others:
            expect(f'{function}: {name}', (done.status, done.out, done.err), (-signal.SIGABRT, '', first[1].err))
    for words in (('mcheck', 'malloc'), ('usable', 'calloc')):
        first, *others = run_debugged(place, *words, MALLOC_CHECK_='3' if words[0] == 'usable' else '0')
        for name, done in others:
            expect(f'{words}: {name}', (done.status, done.out), (first[1].status, first[1].out))


def mtrace_calls(name):
    """The calls in a file of mtrace, by kind and size; callers and addresses differ from run to run."""
    with open(name, encoding='utf-8') as file:
        lines = [line.split(' ', 2)[2].split() for line in file if line.startswith('@')]
    os.unlink(name)
    return sorted((line[0], line[2] if len(line) > 2 else '') for line in lines)


def test_mtrace(place):
    """mtrace writes each call, in any order of libraries; behind heaplapse each block is counted once"""
    write('debugged.c', DEBUGGED)
    compiled('gcc', '-D_GNU_SOURCE', '-fno-builtin', '-w', '-o', 'debugged', 'debugged.c')
    alone = None
    for name, done in run_debugged(place, 'all', MALLOC_TRACE='mtrace.log'):
        expect(f'{name}: status', (done.status, done.err), (4, ''))
        lines = mtrace_calls('mtrace.log')
        alone = alone or lines
        expect(f'{name}: lines', lines, alone)
    expect('lines alone', len(alone) > 500, True)
    infos = place.infos(2)
    # 300 blocks and 60 that were resized, of which 200 are freed; and libc's own for the file, freed
    expect('totals', [(info['totals']['allocations'], info['totals']['frees'], info['totals']['live_blocks_end'])
                      for info in infos.values()], [(361, 261, 100)] * 2)
    done = place.run('./debugged', 'all', env=preloaded(debug_library(), place.library))
    contains('behind it', done.err, 'not recorded', 'put libheaplapse.so first')


if __name__ == '__main__':
    main(globals())
