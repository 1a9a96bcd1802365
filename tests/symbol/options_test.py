#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""options_test - heaplapse report: --symbols, --sysroot, --debuginfod, --full-names, the cache, JIT
names, and the notes on names at the end."""
import difflib, json, os, re, socket, sys, tempfile
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbolizers import *

heaplapse, mktrace, subject = map(os.path.abspath, sys.argv[1:4])

TRACE = '''module /nowhere/lib.so aabb
node - 0 1000
node 0 - 7f0000001000
thread 100
alloc 640 0 1000 1 0
'''

def report(*args, status=0, **env):
    env = {k: v for k, v in dict(dict(os.environ, LC_ALL='C.UTF-8'), **env).items() if v is not None}
    r = subprocess.run([heaplapse, 'report', '--min', '0', '--allocated', *args], capture_output=True, text=True, env=env, timeout=60)
    check(r.returncode == status, f'{args}: status {r.returncode}: {r.stderr[-300:]}')
    return r

def record(tmp, name, *command):
    subprocess.run([heaplapse, 'record', '-q', '-o', f'{tmp}/{name}', '--', *command], capture_output=True)
    return f'{tmp}/{name}'

def names(tmp, trace):
    if not subject.endswith('cpp'):
        return skip('no C++ compiler: names of templates')
    tree = ('--full-stacks', trace)
    short, full = report(*tree).stdout, report('--full-names', *tree).stdout
    check('std::vector<…>' in short or 'std::map<…>' in short or 'basic_string<…>' in short, 'no short name')
    check('…' not in full and '::basic_string<char, ' in full, 'a full name is missing')
    check(re.search(r'<\.\.\.>', report(*tree, LC_ALL='C').stdout), 'no short name in the C locale')
    check('…' not in report('--json', trace).stdout, 'a short name in JSON')

TEMPLATES = '''template<class T> struct Box { __attribute__((noinline)) T *mk() { return new T[10]; } };
template<class T> struct Bag { __attribute__((noinline)) T *mk() { return new T[3]; } };
void *volatile p;
int main() { p = Box<long>().mk(); p = Box<int>().mk(); p = Bag<char>().mk(); }
'''

def templates(tmp):
    """Short names are for display only: filters and rows go by full names."""
    if not shutil.which('c++'):
        return skip('no C++ compiler: names of templates')
    with open(f'{tmp}/box.cc', 'w') as f:
        f.write(TEMPLATES)
    with open(f'{tmp}/box.supp', 'w') as f:
        f.write('leak:Box<long>\n')
    run('c++', '-g', '-O1', '-o', f'{tmp}/box', f'{tmp}/box.cc')
    trace = record(tmp, 'box.hlt', f'{tmp}/box')
    def ask(*args):
        def one(*more):
            r = subprocess.run([heaplapse, 'report', '--leaks', '--min', '0', '--bytes', '--include-module', '*box', *args, *more, trace],
                               capture_output=True, text=True, env=dict(os.environ, LC_ALL='C.UTF-8'))
            check(r.returncode == 0, f'{args}: {r.stderr}')
            return r.stdout
        return one(), one('--full-names'), json.loads(one('--json'))
    total = lambda text: int(re.search(r': ([\d,]+) B in', text).group(1).replace(',', ''))
    for args, bytes in ((['--filter', 'fn:Box<long>'], 80), (['-i', 'Box<long>'], 80), (['-x', 'Box<long>'], 43),
                        (['--suppressions', f'{tmp}/box.supp'], 43), (['--filter', 'fn:Box<…>'], 0)):
        short, full, js = ask(*args)
        check([total(short), total(full), js['total_bytes']] == [bytes] * 3, f'{args}: {total(short)}, {total(full)}, {js["total_bytes"]}')
    for group in 'function', 'site', 'stack':
        short, full, js = ask('--group', group)
        rows = [len([l for l in text.splitlines() if 'mk()' in l]) for text in (short, full)]
        check(rows == [3, 3] and len(js['rows']) == 3, f'{group}: {rows}, {len(js["rows"])} in JSON')
        check('Box<long>::mk()' in short and 'Box<int>::mk()' in short and 'Bag<…>::mk()' in short, f'{group}: {short}')
        check('Bag<char>::mk()' in full and 'Bag<char>::mk()' in str(js), f'{group} in full: {full}')
    short, full, js = ask('--top-down')
    check('Box<long>::mk()' in short and 'Box<int>::mk()' in short and 'Bag<…>::mk()' in short, f'the tree: {short}')
    check(len(short.splitlines()) == len(full.splitlines()), f'the tree in full: {full}')

def separate_debug_files(tmp, trace, program):
    """The program is stripped after the recording; its debug information is elsewhere."""
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

def rebuilt_program(tmp):
    """A program without build-id is used as long as the file has not changed since the recording."""
    source = 'void *%s(int n) { return malloc(n); } int main(void) { void *volatile p = %s(100); return !p; }\n'
    def build(name):
        with open(f'{tmp}/noid.c', 'w') as f:
            f.write('#include <stdlib.h>\n__attribute__((noinline)) ' + source % (name, name))
        run('cc', '-g', '-O1', '-Wl,--build-id=none', '-o', f'{tmp}/noid', f'{tmp}/noid.c')
    build('first')
    trace = record(tmp, 'noid.hlt', f'{tmp}/noid')
    check('first  noid.c' in report(trace).stdout, 'no names without a build-id')
    shutil.copy2(f'{tmp}/noid', f'{tmp}/kept')
    os.makedirs(f'{tmp}/copied{tmp}')
    shutil.copy2(f'{tmp}/noid', f'{tmp}/copied{tmp}/noid')
    check('first  noid.c' in report('--sysroot', f'{tmp}/copied', trace).stdout, 'no names from a copy with the old times')
    build('second')
    old = os.stat(f'{tmp}/kept')
    for what in 'rebuilt', 'rebuilt and dated back':
        out = report(trace).stdout
        check('second' not in out and 'first' not in out and
              'noid: changed since the recording (it has no build-id to check)' in out, f'{what}: {out}')
        os.utime(f'{tmp}/noid', ns=(old.st_atime_ns, old.st_mtime_ns))
    out = report('--symbols', f'{tmp}/noid', trace).stdout
    check('second  noid.c' in out and 'changed since' not in out, f'--symbols: {out}')

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

def unwritable_cache(tmp, trace):
    """If nothing can be cached, the results are the same, there is no message, and no file is left."""
    off = dict(HEAPLAPSE_CACHE='off')
    plain = report(trace, **off).stdout
    place = f'{tmp}/place'
    os.mkdir(place)
    for env in (dict(HOME=None), dict(HOME=''), dict(HOME='relative'), dict(HOME=f'{place}/none'), dict(HOME='/proc/1')):
        r = report(trace, **dict(dict(XDG_CACHE_HOME='', HEAPLAPSE_CACHE=''), **env))
        check(r.stdout == plain and r.stderr == '', f'{env}: {r.stderr!r}')
    check(not os.path.exists('relative') and not os.path.exists(f'{place}/none'), 'a home was made')
    if subprocess.run(['unshare', '-rm', 'mount', '-t', 'tmpfs', 'none', place], capture_output=True).returncode:
        return skip('no file system may be mounted here: a full one, a read-only one')
    env = dict(os.environ, LC_ALL='C.UTF-8', HOME=place, XDG_CACHE_HOME='', HEAPLAPSE_CACHE='')
    for options in ('size=4k', 'nr_inodes=2', 'nr_inodes=4', 'ro'):
        script = f'mount -t tmpfs -o {options} none {place} && "$@" && find {place} -type f >&2'
        r = subprocess.run(['unshare', '-rm', 'sh', '-c', script, 'sh', heaplapse, 'report', '--min', '0', '--allocated', trace],
                           capture_output=True, text=True, env=env, timeout=60)
        left = [line for line in r.stderr.splitlines() if '/.new-' in line or not line.startswith(place)]
        check(r.stdout == plain and r.returncode == 0 and not left, f'{options}: status {r.returncode}, {r.stderr!r}')

def concurrent_processes(tmp, trace):
    """Processes that all find an empty cache and all write it."""
    env = dict(os.environ, LC_ALL='C.UTF-8', XDG_CACHE_HOME=f'{tmp}/at-once', HEAPLAPSE_CACHE='')
    command = [heaplapse, 'report', '--min', '0', '--allocated', trace]
    all = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) for _ in range(6)]
    answers = [p.communicate(timeout=120) for p in all]
    answers += [(report(trace, **at).stdout, '') for at in (dict(HEAPLAPSE_CACHE='off'), dict(
        XDG_CACHE_HOME=f'{tmp}/at-once', HEAPLAPSE_CACHE=''))]
    # The search for the package with the names is limited to 0.2 s; six at once may not have found it.
    said = {out.partition('\nnames:')[0] for out, _ in answers}
    plain, *others = sorted(said)
    for other in others:
        check(False, 'at once: ' + '\n'.join(difflib.unified_diff(plain.splitlines(), other.splitlines(), lineterm='', n=0)))
    check(not any(err for _, err in answers), f'at once: {[err for _, err in answers]}')
    files = os.listdir(f'{tmp}/at-once/heaplapse/sym')
    check(build_id(subject) in files and not any(f.startswith('.') for f in files), f'at once: {files}')

def dead_server(tmp, trace):
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    env = dict(DEBUGINFOD_URLS=f'http://127.0.0.1:{s.getsockname()[1]}', DEBUGINFOD_CACHE_PATH=f'{tmp}/client',
               no_proxy='127.0.0.1')
    r = report(trace, **env)
    check(r.stderr.count('debuginfod') <= 2 and r.stderr.count('heaplapse: cannot get debug information from debuginfod') == 1,
          f'a dead server: {r.stderr!r}')
    check(report('--debuginfod=no', trace, **env).stderr == '', '--debuginfod=no')

def usage(trace):
    for args, said in ((['--debuginfod=maybe'], 'yes or no'), (['--symbols', '/nowhere'], 'an existing file or directory'),
                       (['--sysroot', '/nowhere'], 'a directory')):
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
    """libc's buffers are not a leak, under the exported name and under the one in its debug
    information; a function of that name in the program is not libc's."""
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
    for view in [], ['--sizes'], ['--lifetimes'], ['--group', 'thread'], ['--group', 'call'], ['--group', 'snapshot'], ['--sites']:
        out = subprocess.run([heaplapse, 'report', '--leaks', '--bytes', *view, trace], capture_output=True, text=True).stdout
        check(': 1,100 B in 2 blocks\n' in out and "11 B in 2 blocks: libc's buffers of stdio" in out, f'stdio {view}: {out}')

def relative(tmp):
    """A library that was loaded by a relative path has its absolute path in the trace, even if the
    program was short. If a trace has only the relative path, a note says so, and --symbols finds
    the file."""
    dir = f'{tmp}/relative'
    os.makedirs(f'{dir}/sub')
    with open(f'{dir}/plug.c', 'w') as f:
        f.write('#include <stdlib.h>\nvoid *plug(void) { return malloc(321); }\n')
    with open(f'{dir}/main.c', 'w') as f:
        f.write('#include <dlfcn.h>\nint main(int n, char **a) { void *(*f)(void) = (void *(*)(void))dlsym(dlopen(a[1], RTLD_NOW), "plug");\n'
                'void *volatile p = f(); return !p; }\n')
    with open(f'{dir}/link.c', 'w') as f:
        f.write('void *plug(void);\nint main(void) { void *volatile p = plug(); return !p; }\n')
    run('cc', '-g', '-O0', '-shared', '-fPIC', '-o', f'{dir}/plug.so', f'{dir}/plug.c')
    run('cc', '-g', '-O0', '-shared', '-fPIC', '-Wl,--build-id=none', '-o', f'{dir}/noid.so', f'{dir}/plug.c')
    run('cc', '-o', f'{dir}/main', f'{dir}/main.c', '-ldl')
    shutil.copy(f'{dir}/plug.so', f'{dir}/libplug.so')
    run('cc', '-o', f'{dir}/link', f'{dir}/link.c', f'-L{dir}', '-lplug')
    for cwd, command in ((dir, ['./main', './plug.so']), (f'{dir}/sub', ['../main', './../plug.so']), (dir, ['./main', 'sub/..//./plug.so']),
                         (dir, ['./main', f'{dir}/./plug.so']), (dir, ['./link'])):
        trace = f'{tmp}/relative.hlt'
        subprocess.run([heaplapse, 'record', '-q', '-f', '-o', trace, '--', *command], cwd=cwd, env=dict(os.environ, LD_LIBRARY_PATH='.'))
        frames = [n for n in json.loads(report('--json', trace).stdout)['nodes'] if n['function'] == 'plug']
        wanted = f'{dir}/sub/../plug.so' if command[-1].startswith('sub') else f'{dir}/libplug.so' if command == ['./link'] else f'{dir}/plug.so'
        check([(n['module'], n['bytes']) for n in frames] == [(wanted, 321)], f'{command}: {frames}')
    offset = int(run('nm', f'{dir}/plug.so').split(' T plug')[0].split()[-1], 16) + 8
    for name, id in ('plug.so', build_id(f'{dir}/plug.so')), ('noid.so', '-'):
        for path in f'./{name}', name:
            run(mktrace, f'{tmp}/relative.hlt', input=f'module {path} {id}\nnode - 0 {offset:x}\nthread 1\nalloc 64 0 321 0 0\nend 0 0 640\n')
            out = report(f'{tmp}/relative.hlt', HEAPLAPSE_CACHE='off').stdout
            check(f'names:\n  {path}: the directory of this relative path is not known' in out, f'{path}: {out}')
            for place in dir, f'{dir}/{name}':
                out = report('--symbols', place, f'{tmp}/relative.hlt', HEAPLAPSE_CACHE='off').stdout
                check('plug  plug.c:2' in out and 'names:' not in out, f'{path} by --symbols {place}: {out}')

def many_modules(tmp):
    """At most three lines about modules."""
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
    check(len(said) == 4 and re.fullmatch(r'  and \d+ more modules; --verbose lists all', said[-1]), f'many modules: {said}')

with tempfile.TemporaryDirectory() as tmp:
    tmp = os.path.realpath(tmp)
    program = f'{tmp}/program'
    shutil.copy(subject, program)
    trace = record(tmp, 't.hlt', program)
    for test, *args in ((names, tmp, trace), (templates, tmp), (rebuilt_program, tmp), (cache, tmp, trace), (unwritable_cache, tmp, trace), (concurrent_processes, tmp, trace),
                        (separate_debug_files, tmp, trace, program), (dead_server, tmp, trace), (usage, trace),
                        (jit, tmp), (stdio, tmp), (relative, tmp), (many_modules, tmp)):
        test(*args)
done()
