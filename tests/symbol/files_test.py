#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""files_test - files that belong together: --symbols, --sysroot, debug files of all kinds. All of
them must give the same results."""
import os, sys, tempfile, shutil
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbolizers import *

symbolize, subject = sys.argv[1], os.path.abspath(sys.argv[2])
id, offsets = build_id(subject), offsets_of(subject, 5)
want = symbolize_offsets(symbolize, [], subject, offsets)[1]
assert sum(map(len, want)) > len(want) // 2

def expect_same(what, options, path, want=want, offsets=offsets):
    note, got = symbolize_offsets(symbolize, options, path, offsets, id)
    different = sum(a != b for a, b in zip(got, want))
    check(note == '' and different == 0, f'{what}: note {note!r}, {different} of {len(want)} differ')

def split(tmp, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    run('objcopy', '--only-keep-debug', subject, to)
    run('strip', '-o', f'{tmp}/bare', subject)
    return f'{tmp}/bare'

def by_symbols_option(tmp):
    bare = split(tmp, f'{tmp}/one/two/any-name')
    note, nothing = symbolize_offsets(symbolize, [], bare, offsets, id)
    check(note != '', 'stripped, and no note')
    expect_same('a file', ['--symbols', f'{tmp}/one/two/any-name'], bare)
    expect_same('a folder above it', ['--symbols', f'{tmp}/one'], bare)
    expect_same('the second of two', ['--symbols', '/nowhere', '--symbols', f'{tmp}/one/'], bare)
    expect_same('the program is gone', ['--symbols', f'{tmp}/one'], '/nowhere/program')
    # A stripped copy next to the debug file must not hide it.
    shutil.copy(bare, f'{tmp}/one/bare')
    expect_same('with a stripped copy', ['--symbols', f'{tmp}/one'], bare)
    shutil.copy(f'{tmp}/one/two/any-name', f'{tmp}/one/bare.debug')
    expect_same('by name', ['--symbols', f'{tmp}/one'], bare)
    os.makedirs(f'{tmp}/tree/.build-id/{id[:2]}')
    shutil.move(f'{tmp}/one/two/any-name', f'{tmp}/tree/.build-id/{id[:2]}/{id[2:]}.debug')
    expect_same('.build-id', ['--symbols', f'{tmp}/tree'], bare)
    # A file with another build-id in the right place.
    note, got = symbolize_offsets(symbolize, ['--symbols', f'{tmp}/tree'], bare, offsets, ('01' if id.startswith('00') else '00') + id[2:])
    check(not any(got) and 'rebuilt' in note, f'wrong id: {note!r}')
    # Symlink loops, FIFOs and files of unknown type.
    os.mkfifo(f'{tmp}/tree/fifo')
    os.symlink('/', f'{tmp}/tree/root')
    os.symlink('.', f'{tmp}/tree/self')
    open(f'{tmp}/tree/empty', 'w').close()
    shutil.move(f'{tmp}/tree/.build-id/{id[:2]}/{id[2:]}.debug', f'{tmp}/tree/x')
    expect_same('a folder with odd things', ['--symbols', f'{tmp}/tree'], bare, want)

def sysroot(tmp):
    root = f'{tmp}/root'
    os.makedirs(f'{root}/opt/app')
    shutil.copy(subject, f'{root}/opt/app/program')
    expect_same('--sysroot', ['--sysroot', root], '/opt/app/program')
    expect_same('--sysroot with a slash', ['--sysroot', root + '/'], '/opt/app/program')
    # An absolute link is resolved inside the sysroot.
    os.symlink('/opt/app', f'{root}/current')
    expect_same('a link in the sysroot', ['--sysroot', root], '/current/program')
    bare = split(tmp, f'{root}/usr/lib/debug/.build-id/{id[:2]}/{id[2:]}.debug')
    shutil.copy(bare, f'{root}/opt/app/program')
    expect_same('debug files in the sysroot', ['--sysroot', root], '/opt/app/program')
    note, got = symbolize_offsets(symbolize, ['--sysroot', root], subject, offsets[:9], '00')
    check('does not exist' in note, f'a path outside of the sysroot: {note!r}')

def by_debuglink(tmp):
    run('objcopy', '--only-keep-debug', subject, f'{tmp}/linked.debug')
    run('objcopy', '--strip-all', '--add-gnu-debuglink=linked.debug', subject, f'{tmp}/linked', cwd=tmp)
    expect_same('debuglink', [], f'{tmp}/linked')
    os.mkdir(f'{tmp}/.debug')
    shutil.move(f'{tmp}/linked.debug', f'{tmp}/.debug/linked.debug')
    expect_same('debuglink in .debug', [], f'{tmp}/linked')

def dwz(tmp):
    if not shutil.which('dwz'):
        return skip('dwz is not installed')
    for name in ('a', 'b'):
        shutil.copy(subject, f'{tmp}/{name}')
    run('dwz', '-m', f'{tmp}/shared.dwz', '-M', f'{tmp}/shared.dwz', 'a', 'b', cwd=tmp)
    check('.gnu_debugaltlink' in run('readelf', '-SW', f'{tmp}/a'), 'dwz made no shared file')
    expect_same('dwz', [], f'{tmp}/a')
    os.makedirs(f'{tmp}/far/away')
    shutil.move(f'{tmp}/shared.dwz', f'{tmp}/far/away/x')
    expect_same('dwz by --symbols', ['--symbols', f'{tmp}/far'], f'{tmp}/a')
    # Without the shared file there are fewer names but no wrong ones, and the result is not cached.
    os.mkfifo(f'{tmp}/shared.dwz')   # opening it must not block
    note, got = symbolize_offsets(symbolize, ['--cache', f'{tmp}/c/sym'], f'{tmp}/a', offsets, id, timeout=20)
    check(f'{tmp}/shared.dwz' in note, f'the dwz file is not named: {note!r}')
    real = [frames[-1][0] for frames in got if frames]
    check(len(real) > len(got) // 2 and '[unnamed]' not in real, f'{real.count("[unnamed]")} of {len(real)} functions have no name')
    check(not os.path.exists(f'{tmp}/c/sym/{id}'), 'answers without the dwz file were kept')

def compile(tmp, name, source, *flags):
    with open(f'{tmp}/{name}.c', 'w') as f:
        f.write(source)
    run('cc', '-O2', '-g', *flags, '-Wl,--build-id', '-o', name, f'{name}.c', cwd=tmp)
    return f'{tmp}/{name}'

SOURCE = '''#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
__attribute__((noinline)) void *outer(size_t n) { void *p = inner(n);
\tif (p) *(char *)p = 1;
\treturn p; }
int main(int argc, char **argv) { return outer((size_t)argc) == argv; }
'''

def compressed(tmp):
    run('objcopy', '--compress-debug-sections=zlib', subject, f'{tmp}/small')
    expect_same('compressed', [], f'{tmp}/small')

def unterminated_strings(tmp):
    """Unterminated strings: libdw would read beyond the section."""
    for section in ('.debug_str', '.debug_line_str'):
        data = bytearray(open(subject, 'rb').read())
        for line in run('readelf', '-SW', subject).splitlines():
            p = line.replace('[ ', '[').split()
            if len(p) > 5 and p[1] == section:
                data[int(p[4], 16) + int(p[5], 16) - 1] = ord('x')
        with open(f'{tmp}/endless', 'wb') as f:
            f.write(data)
        note, got = symbolize_offsets(symbolize, [], f'{tmp}/endless', offsets, id)
        check(note == '' and got == want or 'no debug information' in note, f'{section} without an end: {note!r}')

def dwo(tmp):
    """Split DWARF: the tree of a unit is in a .dwo file."""
    for version in ('-gdwarf-4', '-gdwarf-5'):
        whole = compile(tmp, 'whole', SOURCE, version)
        parts = compile(tmp, 'parts', SOURCE.replace('whole', 'parts'), version, '-gsplit-dwarf')
        for line in run('nm', whole).splitlines():
            if line.endswith(' outer'):
                at = int(line.split()[0], 16)
        ranges = list(range(at + 1, at + 20))
        a, b = (symbolize_offsets(symbolize, [], p, ranges)[1] for p in (whole, parts))
        strip = lambda got: [[(f, line, i) for f, _, line, i in frames] for frames in got]
        check(any(len(x) == 2 for x in b), f'{version}: no inlined call')
        check(strip(a) == strip(b), f'{version} split: {b[:9]} is not {a[:9]}')
        for f in os.listdir(tmp):
            if f.endswith('.dwo'):
                os.unlink(f'{tmp}/{f}')
        got = symbolize_offsets(symbolize, ['--cache', f'{tmp}/c/sym'], parts, ranges)[1]
        check([x[-1][0] for x in got] == ['outer'] * len(got), f'{version} without .dwo: {got[:3]}')
        check(not os.path.exists(f'{tmp}/c/sym/{build_id(parts)}'), f'{version} without .dwo: kept')

def d_names(tmp):
    """Mangled names of D, as a linker sees them."""
    program = compile(tmp, 'd', '''int grow(int) __asm__("_D4shop4Cart4growMFiZi");
int grow(int x) { return x + 1; }
int main(int argc, char **argv) { return grow(argc); }
''', '-g0', '-fno-inline')
    for line in run('nm', program).splitlines():
        if line.endswith('_D4shop4Cart4growMFiZi'):
            got = symbolize_offsets(symbolize, [], program, [int(line.split()[0], 16) + 2])[1]
            check(got == [[('shop.Cart.grow(int)', '?', 0, False)]], f'D: {got}')

for test in (by_symbols_option, sysroot, by_debuglink, dwz, compressed, unterminated_strings, dwo, d_names):
    with tempfile.TemporaryDirectory() as tmp:
        test(tmp)
done()
