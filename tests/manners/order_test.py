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


if __name__ == '__main__':
    main(globals())
