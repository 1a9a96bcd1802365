#!/usr/bin/env python3
"""heaplapse report: --symbols, --sysroot, --debuginfod, --full-names, the cache, JIT names, and what is said at the end."""
import os, re, socket, sys, tempfile
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import *

heaplapse, mktrace, subject = map(os.path.abspath, sys.argv[1:4])

TRACE = '''module /nowhere/lib.so aabb
node - 0 1000
node 0 - 7f0000001000
thread 100
alloc 640 0 1000 1 0
'''

def report(*args, status=0, **env):
    env = dict(dict(os.environ, LC_ALL='C.UTF-8'), **env)
    r = subprocess.run([heaplapse, 'report', '--min', '0', '--allocated', *args], capture_output=True, text=True, env=env, timeout=60)
    check(r.returncode == status, f'{args}: status {r.returncode}: {r.stderr[-300:]}')
    return r

def record(tmp, name, *command):
    subprocess.run([heaplapse, 'record', '-q', '-o', f'{tmp}/{name}', '--', *command], capture_output=True)
    return f'{tmp}/{name}'

def names(tmp, trace):
    if not subject.endswith('cpp'):
        return skip('no C++ compiler: names of templates')
    short, full = report(trace).stdout, report('--full-names', trace).stdout
    check('std::vector<…>' in short or 'std::map<…>' in short or 'basic_string<…>' in short, 'no short name')
    check('…' not in full and '::basic_string<char, ' in full, 'a full name is missing')
    check(re.search(r'<\.\.\.>', report(trace, LC_ALL='C').stdout), 'no short name in the C locale')
    check('…' not in report('--json', trace).stdout, 'a short name in JSON')

def places(tmp, trace, program):
    """The program is stripped after it was recorded; what is left of it is elsewhere."""
    lines = re.compile(r'subject\.c(pp)?:\d+')
    check(lines.search(report(trace).stdout), 'no lines')
    run('objcopy', '--only-keep-debug', program, f'{tmp}/debug')
    run('strip', program)
    r = report(trace)
    check(not lines.search(r.stdout), 'lines from nowhere')
    check(re.search(r'program: no debug information.*\(build-id [0-9a-f]{40}\)', r.stdout), f'no advice: {r.stdout[-300:]}')
    check(lines.search(report('--symbols', f'{tmp}/debug', trace).stdout), '--symbols FILE')
    root = f'{tmp}/root{os.path.dirname(program)}'
    os.makedirs(root)
    shutil.copy(subject, f'{root}/program')
    check(lines.search(report('--sysroot', f'{tmp}/root', trace).stdout), '--sysroot')

def cache(tmp, trace):
    home = f'{tmp}/home'
    os.mkdir(home)
    env = dict(HOME=home, XDG_CACHE_HOME='', HEAPLAPSE_CACHE='')
    first = report(trace, **env).stdout
    files = os.listdir(f'{home}/.cache/heaplapse/sym')
    check(build_id(subject) in files, f'not kept: {files}')
    check(os.stat(f'{home}/.cache').st_mode & 0o777 == 0o700, 'mode of ~/.cache')
    check(report(trace, **env).stdout == first, 'another answer from the cache')
    for bad in files:
        with open(f'{home}/.cache/heaplapse/sym/{bad}', 'r+b') as f:
            f.write(b'rubbish')
    r = report(trace, **env)
    check(r.stdout == first and r.stderr == '', f'a broken cache: {r.stderr}')
    report(trace, **dict(env, XDG_CACHE_HOME=f'{tmp}/xdg'))
    check(os.path.exists(f'{tmp}/xdg/heaplapse/sym'), 'XDG_CACHE_HOME')
    report(trace, **dict(env, XDG_CACHE_HOME=f'{tmp}/off', HEAPLAPSE_CACHE='off'))
    check(not os.path.exists(f'{tmp}/off'), 'HEAPLAPSE_CACHE=off')

def dead_server(tmp, trace):
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    env = dict(DEBUGINFOD_URLS=f'http://127.0.0.1:{s.getsockname()[1]}', DEBUGINFOD_CACHE_PATH=f'{tmp}/client',
               no_proxy='127.0.0.1')
    r = report(trace, **env)
    check(r.stderr.count('debuginfod') <= 2 and r.stderr.count('heaplapse: no debug information from debuginfod') == 1,
          f'a dead server: {r.stderr!r}')
    check(report('--debuginfod=no', trace, **env).stderr == '', '--debuginfod=no')

def usage(trace):
    for args, said in ((['--debuginfod=maybe'], 'yes or no'), (['--symbols', '/nowhere'], 'a file or folder'),
                       (['--sysroot', '/nowhere'], 'a folder')):
        r = report(*args, trace, status=2)
        check(said in r.stderr, f'{args}: {r.stderr!r}')

def jit(tmp):
    """The trace of mktrace is of process 42 and has code at 0x7f0000001000 that is in no module."""
    run(mktrace, f'{tmp}/jit.hlt', input=TRACE)
    check('[jit 0x7f0000001000]' in report(f'{tmp}/jit.hlt').stdout, 'no jit frame')
    os.makedirs(f'{tmp}/jit/tmp')
    with open(f'{tmp}/jit/tmp/perf-42.map', 'w') as f:
        f.write('7f0000000f00 200 LazyCompile:~sum\x1b[31m <shop.js:3>\n')
    out = report('--sysroot', f'{tmp}/jit', f'{tmp}/jit.hlt').stdout
    check('LazyCompile:~sum\\x1b[31m <shop.js:3>' in out and '[jit' not in out, f'a perf map: {out[:600]}')

def stdio(tmp):
    """libc's buffers are no leak, under the name it exports and under the one in its debug information; a program's own
    function of that name is no libc."""
    with open(f'{tmp}/libc.c', 'w') as f:
        f.write('#include <stdlib.h>\nvoid *_IO_file_doallocate(void) { return malloc(1); }\n'
                'void *__GI__IO_file_doallocate(void) { return malloc(10); }\nvoid *other(void) { return malloc(100); }\n')
    with open(f'{tmp}/s.c', 'w') as f:
        f.write('#include <stdlib.h>\nvoid *_IO_file_doallocate(void), *__GI__IO_file_doallocate(void), *other(void);\n'
                'void *_IO_wfile_doallocate(void) { return malloc(1000); }\nint main(void) { void *volatile p = '
                '_IO_file_doallocate(); p = __GI__IO_file_doallocate(); p = other(); p = _IO_wfile_doallocate(); }\n')
    run('cc', '-g', '-shared', '-fPIC', '-o', f'{tmp}/libc-2.made.so', f'{tmp}/libc.c')
    run('cc', '-g', '-o', f'{tmp}/s', f'{tmp}/s.c', f'{tmp}/libc-2.made.so', f'-Wl,-rpath,{tmp}')
    trace = record(tmp, 's.hlt', f'{tmp}/s')
    out = subprocess.run([heaplapse, 'report', '--leaks', '--bytes', trace], capture_output=True, text=True).stdout
    check('1,100 B in 2 blocks' in out and "11 B in 2 blocks: libc's buffers of stdio" in out, f'stdio: {out}')

def many(tmp):
    """At most five lines about modules."""
    libs = []
    for i in range(8):
        with open(f'{tmp}/l{i}.c', 'w') as f:
            f.write(f'#include <stdlib.h>\nvoid *f{i}(void) {{ return malloc({i + 1}); }}\n')
        run('cc', '-shared', '-fPIC', '-g0', '-s', '-o', f'{tmp}/libl{i}.so', f'{tmp}/l{i}.c')
        libs.append(f'{tmp}/libl{i}.so')
    with open(f'{tmp}/m.c', 'w') as f:
        f.write(''.join(f'void *f{i}(void);\n' for i in range(8)) + 'int main(void) { void *volatile p;\n' +
                ''.join(f'p = f{i}();\n' for i in range(8)) + 'return 0; }\n')
    run('cc', '-g', '-o', f'{tmp}/m', f'{tmp}/m.c', *libs, f'-Wl,-rpath,{tmp}')
    out = report(record(tmp, 'm.hlt', f'{tmp}/m')).stdout
    said = out.split('\nnames:\n')[-1].splitlines()
    check(len(said) == 6 and re.fullmatch(r'  and \d+ more', said[-1]), f'many modules: {said}')

with tempfile.TemporaryDirectory() as tmp:
    tmp = os.path.realpath(tmp)
    program = f'{tmp}/program'
    shutil.copy(subject, program)
    trace = record(tmp, 't.hlt', program)
    for test, *args in ((names, tmp, trace), (cache, tmp, trace), (places, tmp, trace, program), (dead_server, tmp, trace),
                        (usage, trace), (jit, tmp), (stdio, tmp), (many, tmp)):
        test(*args)
done()
