#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""loading_test - unusual ways to load a program and its libraries: it runs as it does bare, and is
recorded as far as possible."""
import json
import os
import re
import shutil

from transparency import Skip, compiled, contains, expect, expect_lossless, main

PLUGIN = '''
#include <stdlib.h>
void *make(size_t n) { return malloc(n); }
void drop(void *p) { free(p); }
'''

# 200 blocks of 1000 bytes itself, 200 of 2000 by a plugin, which also frees them
HOST = '''
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	void *lib = !strcmp(argv[1], "deepbind") ? dlopen("./plugin.so", RTLD_NOW | RTLD_DEEPBIND)
						 : dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_NOW);
	if (!lib) { puts(dlerror()); return 1; }
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(lib, "make");
	void (*drop)(void *) = (void (*)(void *))dlsym(lib, "drop");
	for (int i = 0; i < 200; i++) {
		free(malloc(1000));
		drop(make(2000));
	}
	if (argc > 2) { /* one allocates, the other frees */
		for (int i = 0; i < 200; i++) {
			free(make(3000));
			drop(malloc(4000));
		}
	}
	return 9;
}
'''

# All constructors, and the resolvers of indirect functions, run before main.
EARLY = '''
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static void *kept;
__attribute__((constructor(101))) static void first(void)
{
	char *name = malloc(60001);
	memset(name, 'x', 60000);
	name[60000] = 0;
	for (int i = 0; i < 20; i++)
		if (dlsym(RTLD_NEXT, name) || !dlerror())
			abort();
	free(name);
	kept = malloc(1000);
}
__attribute__((destructor(101))) static void last(void) { free(kept); }
'''

AUDIT = '''
#include <stdlib.h>
#include <link.h>
unsigned la_version(unsigned v) { free(malloc(5000)); return v; }
unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
'''

MAPS = '''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	free(malloc(10));
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/relro\\n") || strstr(line, "libc.so.6"))
			printf("%.4s %s", strchr(line, ' ') + 1, strrchr(line, '/'));
	return 0;
}
'''


# Every kind of call that takes the loader's lock, at once.
LOADERS = r'''
#include <atomic>
#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <unistd.h>
static std::atomic<bool> over;
static void *load(void *)
{
	while (!over)
		if (void *lib = dlopen("./plugin.so", RTLD_NOW)) {
			auto make = (void *(*)(size_t))dlsym(lib, "make");
			free(make(2000));
			dlclose(lib);
		}
	return nullptr;
}
static void *raise(void *)
{
	while (!over)
		try { throw std::runtime_error(std::string(50, 'x')); } catch (const std::exception &) { }
	return nullptr;
}
static void *take(void *)
{
	while (!over)
		free(malloc(1000));
	return nullptr;
}
int main()
{
	void *(*all[])(void *) = {load, raise, take, load, raise, take, load, raise, take, load, raise, take};
	pthread_t t[12];
	for (int i = 0; i < 12; i++)
		pthread_create(&t[i], nullptr, all[i], nullptr);
	sleep(2);
	over = true;
	for (pthread_t one : t)
		pthread_join(one, nullptr);
	return 9;
}
'''


def built(name, source, *options):
    with open(name + '.c', 'w', encoding='ascii') as file:
        file.write('#define _GNU_SOURCE\n' + source)
    compiled('gcc', '-g', '-fno-builtin', '-o', name, name + '.c', *options)
    return os.path.abspath(name)


def sizes(place, trace):
    found = {}
    for event in place.heaplapse.dump(trace):
        if event.op == 'alloc' and event.size in (1000, 2000, 3000, 4000):
            found[event.size] = found.get(event.size, 0) + 1
    return found


def with_plugin(place, way):
    built('plugin.so', PLUGIN, '-shared', '-fPIC')
    host = built('host', HOST)
    expect('alone', place.run(host, way).status, 9)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, host, way)
        expect('status and output', (done.status, done.out, done.err), (9, '', ''))
        info = place.info()
        expect_lossless(info, end=('exit', 9))
        found = sizes(place, place.traces()[0])
        expect('blocks of the program', found[1000], 200)
        expect('blocks of the plugin are all seen or none', found.get(2000, 0) in (0, 200), True)
        os.unlink(place.traces()[0])
    return host


def test_deepbind(place):
    """RTLD_DEEPBIND: the flag is kept, and blocks may pass between recorded and unrecorded code"""
    host = with_plugin(place, 'deepbind')
    done = place.record(host, 'deepbind', 'mixed')
    expect('status and stderr', (done.status, done.err), (9, ''))
    info = place.info()
    expect('end', info['end'], {'kind': 'exit', 'value': 9})
    expect('blocks', sizes(place, place.traces()[0])[4000], 200)


def test_dlmopen(place):
    """dlmopen: a libc of its own"""
    with_plugin(place, 'dlmopen')


def test_loader_lock(place):
    """threads that load and unload, throw, and allocate, all at once: no hook waits for the loader's lock"""
    built('plugin.so', PLUGIN, '-shared', '-fPIC')
    with open('loaders.cpp', 'w', encoding='ascii') as file:
        file.write(LOADERS)
    compiled('g++', '-g', '-O1', '-fno-builtin', '-o', 'loaders', 'loaders.cpp', '-pthread')
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, './loaders')
        expect('status and stderr', (done.status, done.err), (9, ''))
        info = place.info()
        expect('end', info['end'], {'kind': 'exit', 'value': 9})
        os.unlink(place.traces()[0])


def test_early(place):
    """constructors that allocate, and make dlsym allocate, before ours could have run"""
    built('early.so', EARLY, '-shared', '-fPIC')
    for env in ({'LD_PRELOAD': './early.so'}, {'LD_PRELOAD': './early.so', 'LD_BIND_NOW': '1'}):
        done = place.record(place.program('ending'), 'exit:3', env={**os.environ, **env})
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info(), end=('exit', 3))
        expect('its block', sizes(place, place.traces()[0]), {1000: 1})
        os.unlink(place.traces()[0])


def test_audit(place):
    """LD_AUDIT"""
    audit = built('audit.so', AUDIT, '-shared', '-fPIC')
    env = {**os.environ, 'LD_AUDIT': audit}
    expect('alone', place.run(place.program('ending'), 'exit:3', env=env).status, 3)
    for command in (place.record_command(place.program('ending'), 'exit:3'),
                    ['env', f'LD_PRELOAD={place.library}', place.program('ending'), 'exit:3']):
        done = place.run(*command, env=env)
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))
        place.remove_traces()


def test_relro(place):
    """a hardened program (-z relro -z now -pie): read-only mappings stay read-only"""
    program = built('relro', MAPS, '-Wl,-z,relro,-z,now', '-pie', '-fPIE', '-fstack-protector-strong')
    alone = place.run(program).out
    contains('maps', alone, 'r--p', 'r-xp')
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, program)
        expect('status and maps', (done.status, done.out), (0, alone))


def test_preload_twice(place):
    """the library twice in LD_PRELOAD, and another before and behind: children see the user's value"""
    other = '/lib/x86_64-linux-gnu/libm.so.6'
    for given in (other, f'{other}:{place.library}', f'{place.library}:{other}'):
        done = place.record('/bin/sh', '-c', '/bin/sh -c "env; exit 3"', env={**os.environ, 'LD_PRELOAD': given})
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect('LD_PRELOAD of a grandchild', re.findall('^LD_PRELOAD=(.*)', done.out, re.M), [f'{place.library}:{given}'])


def test_empty_environment(place):
    """env -i: the child is not followed, its parent's trace ends by exec"""
    done = place.record('env', '-i', place.program('ending'), 'exit:3')
    expect('status and stderr', (done.status, done.err), (3, ''))
    expect_lossless(place.info(), end=('exec', 0))


def test_library_unloadable(place):
    """a library that cannot be loaded: record says that the recorder never started"""
    os.mkdir('broken')
    shutil.copy(place.binary, 'broken/heaplapse')
    with open('broken/libheaplapse.so', 'w', encoding='ascii') as file:
        file.write('no library')
    done = place.run('broken/heaplapse', 'record', '--', place.program('ending'), 'exit:3')
    expect('status', done.status, 3)
    contains('what record says', done.err, 'was not recorded', 'never started')


def test_static_allocator(place):
    """a program with a malloc of its own inside: it runs, its allocations are not seen"""
    source = os.path.join(place.sources, 'bump.c')
    program = built('own', 'int main(void) { void *volatile p = __builtin_malloc(1000); return p ? 3 : 1; }', source)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, program)
        expect('status', done.status, 3)


COPIES = '''
#include <stdlib.h>
#include <string.h>
char *strndup(const char *s, size_t n)
{
	size_t size = strnlen(s, n);
	char *p = malloc(size + 1);
	if (p) {
		memcpy(p, s, size);
		p[size] = 0;
	}
	return p;
}
char *strdup(const char *s) { return strndup(s, (size_t)-1); }
'''

COPYING = '''
#include <stdlib.h>
#include <string.h>
int main(void)
{
	static char text[3000];
	memset(text, 'x', 999);
	for (int i = 0; i < 3; i++)
		free(strdup(text));
	memset(text, 'x', 2500);
	for (int i = 0; i < 2; i++)
		free(strndup(text, 1999));
	return 3;
}
'''


def test_strdup(place):
    """strdup and strndup, libc's and an allocator's own: each block is recorded once, below its caller"""
    copies = built('copies.so', COPIES, os.path.join(place.sources, 'bump.c'), '-shared', '-fPIC', '-Wl,-Bsymbolic')
    program = built('copying', COPYING)
    for preload in ('', copies):
        env = {**os.environ, 'LD_PRELOAD': preload}
        done = place.record(program, env=env)
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info(), end=('exit', 3))
        trace = place.traces()[0]
        expect(f'blocks with {preload}', sizes(place, trace), {1000: 3, 2000: 2})
        report = json.loads(place.heaplapse.run('report', '--allocated', '--json', '--filter', 'fn:main', trace))
        expect('blocks below main()', report['total_blocks'], 5)
        os.unlink(trace)


def test_other_allocators(place):
    """jemalloc, tcmalloc and mimalloc before and behind us in LD_PRELOAD"""
    seen = 0
    for name in ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4', 'libmimalloc.so.2', 'libmimalloc.so.3'):
        if place.run('/bin/true', env={'LD_PRELOAD': name}).err:
            continue
        seen += 1
        for order in (f'{place.library}:{name}', f'{name}:{place.library}'):
            done = place.run(place.program('ending'), 'exit:3', env={**os.environ, 'LD_PRELOAD': order})
            expect(f'{order}: status', done.status, 3)
            if order.startswith(name):
                contains('message', done.err, 'not recorded', 'put libheaplapse.so first')
            else:
                expect('stderr', done.err, '')
                info = place.info()
                expect_lossless(info, end=('exit', 3))
                os.unlink(place.traces()[0])
    if not seen:
        raise Skip('none of them is installed')


main(globals())
