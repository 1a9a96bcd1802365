#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""linking_test - programs that are linked to the library count without LD_PRELOAD and without a collector."""
import glob
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'transparency'))
from transparency import Failure, Skip, compiled, contains, expect, main  # noqa: E402

TOP = os.path.join(HERE, '..', '..')
EXAMPLE = os.path.join(TOP, 'examples', 'tags.c')
ALLOCATORS = {'jemalloc': 'libjemalloc.so.2', 'tcmalloc': 'libtcmalloc_minimal.so.4', 'mimalloc': 'libmimalloc.so.[23]'}


def find(library):
    found = glob.glob('/usr/lib/*/' + library)
    if not found:
        raise Skip(f'{library} is not installed')
    return found[0]


def check(place, *command, env=None):
    """The program counts, and starts no collector."""
    done = place.run(*command, env={**os.environ, 'HEAPLAPSE_STATS_JSON': 'stats.json', **(env or {})})
    expect('status and output', (done.status, done.out, done.err), (0, 'draw: 200 blocks, all freed: yes\n', ''))
    with open('stats.json') as file:
        report = json.load(file)
    os.unlink('stats.json')
    scopes = {s['name']: s for t in report['threads'] for s in t['scopes']}
    expect('vertices', (scopes['vertices']['entered'], scopes['vertices']['calls']['malloc'],
                        scopes['vertices']['calls']['realloc'], scopes['vertices']['calls']['free']), (100, 100, 100, 100))
    expect('request', scopes['request']['self']['allocated_blocks'], 1)
    expect('traces', place.traces(), [])
    return scopes


def build(place, *libraries, name='linked'):
    folder = os.path.dirname(place.library)
    compiled('gcc', '-O1', '-fno-builtin', '-I', place.include, '-o', name, EXAMPLE, '-L', folder, '-Wl,--no-as-needed',
             *libraries, '-Wl,-rpath,' + folder, '-lpthread')
    return './' + name


def test_plain(place):
    """-lheaplapse alone; both ways of charging; also recorded"""
    program = build(place, '-lheaplapse')
    check(place, program)
    check(place, program, env={'HEAPLAPSE_TAGS': 'owner'})
    check(place, program, env={'LD_PRELOAD': place.library, 'HEAPLAPSE_MODE': 'tags'})
    done = place.record(program)
    expect('recorded', (done.status, done.err), (0, ''))
    expect('allocations', place.info()['totals']['allocations'] > 200, True)


def test_allocators(place):
    """before another allocator"""
    for library in ALLOCATORS.values():
        check(place, build(place, '-lheaplapse', find(library)))


# Scopes, and no call of the malloc family: only libc allocates.
QUIET = '''
#include <stdio.h>
#include "heaplapse.h"
int main(void)
{
	HEAPLAPSE_SCOPE("files");
	for (int i = 0; i < 10; i++)
		fclose(fopen("/dev/null", "r"));
	return 0;
}
'''
# In a shared library; a program that links to it needs no other library.
PART = '''
#include "heaplapse.h"
void part(void) { heaplapse_mark("here"); }
'''
WHOLE = 'void part(void); int main(void) { part(); return 0; }\n'


def write_file(name, text):
    with open(name, 'w', encoding='ascii') as file:
        file.write(text)
    return name


def counted_files(place, *command):
    env = {**os.environ, 'HEAPLAPSE_STATS_JSON': 'stats.json'}
    done = place.run(*command, env=env)
    expect(f'{command}: status and messages', (done.status, done.err), (0, ''))
    if not os.path.exists('stats.json'):
        raise Failure(f'{command}: nothing is counted')
    with open('stats.json', encoding='utf-8') as file:
        scopes = {s['name']: s for t in json.load(file)['threads'] for s in t['scopes']}
    os.unlink('stats.json')
    return scopes['files']['calls']['malloc'], scopes['files']['calls']['free']


def test_as_needed(place):
    """-lheaplapse under --as-needed, in a program with scopes that calls no function of the malloc family"""
    write_file('quiet.c', QUIET)
    shutil.copy('quiet.c', 'quiet.cc')
    folder = os.path.dirname(place.library)
    library = ['-Wl,--as-needed', '-L', folder, '-lheaplapse', '-Wl,-rpath,' + folder]
    for compiler, source, *flags in (('gcc', 'quiet.c'), ('gcc', 'quiet.c', '-O2', '-flto'), ('gcc', 'quiet.c', '-no-pie', '-fno-pie'),
                                     ('g++', 'quiet.cc'), ('gcc', 'quiet.c', '-Wl,--gc-sections', '-fuse-ld=gold'),
                                     ('clang', 'quiet.c'), ('clang', 'quiet.c', '-fuse-ld=lld')):
        linker = next((flag.replace('-fuse-ld=', 'ld.') for flag in flags if 'fuse' in flag), compiler)
        if not shutil.which(compiler) or not shutil.which(linker):
            continue
        compiled(compiler, '-pedantic', '-Wall', '-Wextra', '-I', place.include, '-o', 'quiet', source, *flags, *library)
        expect(f'{compiler} {flags}', counted_files(place, './quiet'), (10, 10))
        # without the library there is nothing to resolve, and the recorder still finds the scopes
        compiled(compiler, '-I', place.include, '-o', 'alone', source, *flags)
        expect('alone', place.run('./alone').status, 0)
    expect('alone, in mode tags', counted_files(place, 'env', f'LD_PRELOAD={place.library}', 'HEAPLAPSE_MODE=tags', './alone'), (10, 10))


def test_shared_library(place):
    """a shared library that includes the header needs nothing, nor does a program that links it"""
    compiled('gcc', '-fPIC', '-shared', '-Wl,-z,defs', '-I', place.include, '-o', 'libpart.so', write_file('part.c', PART))
    compiled('gcc', '-o', 'whole', write_file('whole.c', WHOLE), '-L.', '-lpart', '-Wl,-rpath,.')
    expect('status', place.run('./whole').status, 0)


def test_order_message(place):
    """behind another allocator: the message says whether the link order or LD_PRELOAD has to change"""
    other = find(ALLOCATORS['tcmalloc'])
    done = place.run(build(place, other, '-lheaplapse'))
    expect('linked: status and lines', (done.status, done.err.count('\n')), (0, 1))
    contains('linked', done.err, 'nothing is counted', ALLOCATORS['tcmalloc'], '-lheaplapse before it', 'pkg-config')
    expect('linked: LD_PRELOAD is not blamed', 'LD_PRELOAD' in done.err, False)
    program = build(place, '-lheaplapse')
    done = place.run(program, env={**os.environ, 'LD_PRELOAD': other})
    expect('preloaded: status and lines', (done.status, done.err.count('\n')), (0, 1))
    contains('preloaded', done.err, 'nothing is counted', ALLOCATORS['tcmalloc'], 'is linked to', 'put libheaplapse.so before it in LD_PRELOAD')
    check(place, program, env={'LD_PRELOAD': f'{place.library} {other}', 'HEAPLAPSE_MODE': 'tags'})
    done = place.run(program, env={**os.environ, 'LD_PRELOAD': f'{other} {place.library}'})
    contains('both preloaded', done.err, 'not recorded', 'put libheaplapse.so first')


def installed(place, folder):
    """The layout and paths of `meson install`."""
    os.makedirs(folder + '/lib/pkgconfig')
    os.makedirs(folder + '/include')
    for name in ('libheaplapse.so', 'libheaplapse-first.a'):
        shutil.copy(os.path.join(os.path.dirname(place.library), name), folder + '/lib')
    shutil.copy(os.path.join(place.include, 'heaplapse.h'), folder + '/include')
    build_folder = os.path.dirname(place.library)
    with open(os.path.join(build_folder, 'meson-private', 'heaplapse.pc')) as file:
        lines = file.read().splitlines()
    paths = {'prefix=': folder, 'includedir=': folder + '/include', 'libdir=': folder + '/lib'}
    with open(folder + '/lib/pkgconfig/heaplapse.pc', 'w') as file:
        for line in lines:
            key = next((key for key in paths if line.startswith(key)), None)
            file.write((key + paths[key] if key else line) + '\n')
    with open(os.path.join(TOP, 'packaging', 'heaplapse-config.cmake.in')) as file:
        text = file.read().replace('@LIBDIR@', folder + '/lib').replace('@INCLUDEDIR@', folder + '/include')
    os.makedirs(folder + '/lib/cmake/heaplapse')
    with open(folder + '/lib/cmake/heaplapse/heaplapse-config.cmake', 'w') as file:
        file.write(text)
    return {**os.environ, 'PKG_CONFIG_PATH': folder + '/lib/pkgconfig', 'CMAKE_PREFIX_PATH': folder,
            'LD_LIBRARY_PATH': folder + '/lib'}


def test_pkg_config(place):
    """pkg-config --cflags --libs heaplapse"""
    env = installed(place, os.path.abspath('root'))
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'heaplapse'], env=env, capture_output=True, text=True,
                           check=True).stdout.split()
    compiled('gcc', '-fno-builtin', '-o', 'linked', EXAMPLE, '-Wl,--as-needed', *flags, '-lpthread')
    check(place, './linked', env=env)


def operators(place, program, env):
    """new and delete are counted once and under their own names, and blocks come from the other allocator."""
    done = place.run(program, env={**env, 'HEAPLAPSE_STATS_JSON': 'stats.json'})
    expect('status and messages', (done.status, done.err), (0, ''))
    with open('stats.json') as file:
        level = next(s for t in json.load(file)['threads'] for s in t['scopes'] if s['name'] == 'level 3')
    expect('calls', {call: n for call, n in level['calls'].items() if n}, {'new': 1, 'delete': 1})


def test_either_order(place):
    """by pkg-config, before and behind another allocator; in C++ too"""
    env = installed(place, os.path.abspath('root'))
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'heaplapse'], env=env, capture_output=True, text=True,
                           check=True).stdout.split()
    for name, library in ALLOCATORS.items():
        other = ['-Wl,--no-as-needed', find(library)]
        for order in (flags + other, other + flags):
            compiled('gcc', '-fno-builtin', '-o', 'linked', EXAMPLE, *order, '-lpthread')
            own = check(place, './linked', env=env)['vertices']['self']
            expect(f'blocks are of the sizes of {name}', own['allocated_bytes'], 100 * (1024 + 2048))
            compiled('g++', '-fno-builtin', '-o', 'linked_cxx', EXAMPLE + 'pp', *order)
            operators(place, './linked_cxx', env)


REPLACED = '''
#include <cstdio>
#include <cstdlib>
#include <new>
static int made, gone;
void *operator new(std::size_t n) { made++; void *p = std::malloc(n); if (!p) throw std::bad_alloc(); return p; }
void operator delete(void *p) noexcept { gone++; std::free(p); }
void operator delete(void *p, std::size_t) noexcept { gone++; std::free(p); }
int main()
{
	for (int i = 0; i < 100; i++)
		delete new int[1];
	for (int i = 0; i < 50; i++)
		delete new int(i);
	std::printf("%d %d\\n", made, gone);
	return 0;
}
'''


def test_replaced_operators(place):
    """by pkg-config, a program with its own operators: they are called, and counted as the functions that they call"""
    env = installed(place, os.path.abspath('root'))
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'heaplapse'], env=env, capture_output=True, text=True,
                           check=True).stdout.split()
    with open('replaced.cc', 'w', encoding='ascii') as file:
        file.write(REPLACED.replace('delete new int[1]', 'operator delete(operator new(4))'))
    compiled('g++', '-fno-builtin', '-o', 'replaced', 'replaced.cc', *flags)
    done = place.run('./replaced', env={**env, 'HEAPLAPSE_STATS_JSON': 'stats.json'})
    expect('its own are called', (done.status, done.out, done.err), (0, '150 150\n', ''))
    with open('stats.json', encoding='utf-8') as file:
        calls = [t['calls'] if 'calls' in t else t['scopes'][0]['calls'] for t in json.load(file)['threads']]
    expect('counted as malloc', calls[0]['malloc'] >= 150 and not calls[0]['new'], True)


def quietly(*command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    expect(' '.join(command) + ': ' + done.stdout[-1000:] + done.stderr[-1000:], done.returncode, 0)


def test_meson(place):
    """dependency('heaplapse') in Meson"""
    if not shutil.which('meson'):
        raise Skip('meson is not installed')
    env = installed(place, os.path.abspath('root'))
    os.mkdir('project')
    shutil.copy(EXAMPLE, 'project')
    with open('project/meson.build', 'w') as file:
        file.write("project('linked', 'c')\n"
                   "executable('linked', 'tags.c', c_args: '-fno-builtin', dependencies: [dependency('heaplapse'), "
                   "dependency('threads')])\n")
    quietly('meson', 'setup', 'out', 'project', env=env)
    quietly('ninja', '-C', 'out', env=env)
    check(place, 'out/linked', env=env)


def test_cmake(place):
    """find_package(heaplapse) in CMake"""
    if not shutil.which('cmake'):
        raise Skip('cmake is not installed')
    env = installed(place, os.path.abspath('root'))
    os.mkdir('project')
    shutil.copy(EXAMPLE, 'project')
    with open('project/CMakeLists.txt', 'w') as file:
        file.write('cmake_minimum_required(VERSION 3.13)\nproject(linked C)\nfind_package(heaplapse REQUIRED)\n'
                   'find_package(Threads REQUIRED)\nadd_executable(linked tags.c)\n'
                   'target_compile_options(linked PRIVATE -fno-builtin)\n'
                   'target_link_libraries(linked heaplapse::heaplapse Threads::Threads)\n')
    quietly('cmake', '-S', 'project', '-B', 'out', env=env)
    quietly('cmake', '--build', 'out', env=env)
    check(place, 'out/linked', env=env)


main(globals())
