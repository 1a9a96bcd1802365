#!/usr/bin/python3
"""order_test - who stands before whom: other allocators in LD_PRELOAD, programs with a malloc stub of their own."""
import glob
import os

from manners import Skip, compiled, contains, expect, main, sound

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

# Blocks of its own shape: whoever goes past one of the two breaks the heap.
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


def build(*flags):
    with open('order.c', 'w', encoding='ascii') as file:
        file.write(PROGRAM)
    compiled('gcc', '-D_GNU_SOURCE', *flags, '-o', 'order', 'order.c')


def test_stub(place):
    """a program that is not position-independent and takes malloc's address is recorded"""
    build('-no-pie', '-fno-pie')
    done = place.record('./order', options=('-q', '-o', 'x.hlt'))
    expect('status and stderr', (done.status, done.err), (6, '1\n'))
    sound(place.info(), 2)


def test_behind(place):
    """behind another allocator nothing is recorded, one sentence says so, and the program works"""
    build()
    libraries = glob.glob('/usr/lib/x86_64-linux-gnu/libjemalloc.so.2') + \
        glob.glob('/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4')
    if not libraries:
        raise Skip('neither jemalloc nor tcmalloc is here')
    for library in libraries:
        done = place.run('./order', env={**os.environ, 'LD_PRELOAD': f'{library} {place.library}'})
        expect('status', done.status, 6)
        expect('lines', done.err.count('\n'), 2)
        contains('message', done.err, 'not recorded', 'put it behind')
        expect('traces', place.traces(), [])


def test_wrapper_of_operators(place):
    """operator new goes to the malloc of a wrapper that stands before us, as it does without us"""
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


if __name__ == '__main__':
    main(globals())
