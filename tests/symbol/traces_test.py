#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""traces_test - every address in real traces: the complete chain of inlined calls, with names,
paths and lines, equals that of addr2line -i -f -C or llvm-symbolizer.

	traces_test.py HEAPLAPSE TRACE-NAMES SUBJECT...

Programs that are not installed are skipped by name. The two tools differ in these cases:

- addr2line 2.40 extends the last named function over the code behind it; llvm-symbolizer and we give that code no name.
- addr2line gives code from an included file the path of the including file.
- addr2line gives the innermost frame the symbol of the function around it, if its DWARF has no linkage name.
- llvm-symbolizer gives the outermost frame the symbol's name, one of its aliases (libc) or clones (.cold).

If both of the last two apply to an address (MIXED below), the names are those of one tool and the
places those of the other.
"""
import glob, os, re, sys, tempfile
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbolizers import *

heaplapse, trace_names, subjects = sys.argv[1], sys.argv[2], [os.path.abspath(p) for p in sys.argv[3:]]

RUST = '''
use std::collections::HashMap;
struct Item { name: String, prices: Vec<u32> }
trait Total { fn total(&self) -> u32; }
impl Total for Item { fn total(&self) -> u32 { self.prices.iter().map(|p| p * 2).sum() } }
fn make<T: ToString>(n: T) -> Item { Item { name: n.to_string() + "!", prices: (0..100).collect() } }
fn main() {
    let mut stock: HashMap<String, Box<dyn Total>> = HashMap::new();
    for i in 0..200u32 { let it = make(i); stock.insert(it.name.clone(), Box::new(it)); }
    let words: Vec<String> = stock.keys().map(|k| format!("{}-{}", k, stock[k].total())).collect();
    println!("{}", words.join(",").len());
}
'''
THREADS = '''
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static inline char *twice(const char *s) { char *p = malloc(2 * strlen(s) + 1); strcpy(p, s); return strcat(p, s); }
static void *work(void *arg) { for (int i = 0; i < 100; i++) free(twice(arg)); return calloc(1, 7); }
int main(void) {
\tpthread_t t[4];
\tfor (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, "abc");
\tfor (int i = 0; i < 4; i++) { void *p; pthread_join(t[i], &p); free(p); }
\treturn 0;
}
'''

# One function in two units that are compiled in different directories; both units describe the copy
# that the linker keeps.
SHARED = {
    'shared.h': 'template <typename T> [[gnu::noinline]] T *keep(T value) { return new T(value); }\n',
    'one.cpp': '#include "shared.h"\nint two();\nint main() { return *keep(1) + two() == 3 ? 0 : 1; }\n',
    'two.cpp': '#include "shared.h"\nint two() { return *keep(2); }\n',
}

def two_units(tmp):
    for name, text in SHARED.items():
        with open(f'{tmp}/{name}', 'w') as f:
            f.write(text)
    for unit in ('one', 'two'):
        run('c++', '-O2', '-g', f'-fdebug-prefix-map={tmp}=/{unit}', '-c', '-o', f'{tmp}/{unit}.o', f'{tmp}/{unit}.cpp')
    run('c++', '-o', f'{tmp}/units', f'{tmp}/one.o', f'{tmp}/two.o')
    return [f'{tmp}/units']

def programs(tmp):
    """(name, command) of the programs to record"""
    for s in subjects:
        yield os.path.basename(s), [s]
    with open(f'{tmp}/threads.c', 'w') as f:
        f.write(THREADS)
    run('cc', '-O2', '-g', '-pthread', '-o', f'{tmp}/threads', f'{tmp}/threads.c')
    yield 'threads', [f'{tmp}/threads']
    if shutil.which('c++'):
        yield 'two units', two_units(tmp)
    else:
        skip('c++ is not installed')
    if shutil.which('rustc') and subprocess.run(['rustc', '--version'], capture_output=True).returncode == 0:
        with open(f'{tmp}/shop.rs', 'w') as f:
            f.write(RUST)
        for v0 in ('no', 'yes'):
            flags = ['-C', 'symbol-mangling-version=v0'] if v0 == 'yes' else []
            run('rustc', '-g', '-O', *flags, '-C', 'link-arg=-Wl,--build-id', '-o', f'{tmp}/shop-{v0}', f'{tmp}/shop.rs')
            yield f'Rust (v0 mangling: {v0})', [f'{tmp}/shop-{v0}']
    else:
        skip('rustc is not installed')
    yield 'a shell script with children', ['sh', '-c', f'{subjects[0]} >/dev/null; ls / | sort | tr a-z A-Z']
    for name, *args in (('python3', '-c', 'import json; print(len(json.dumps(list(range(10000)))))'),
                        ('sqlite3', ':memory:', 'create table t(a); insert into t values(1); select * from t order by a;'),
                        ('cc', '-O1', '-c', '-o', f'{tmp}/t.o', f'{tmp}/threads.c')):
        found = shutil.which(name, path='/usr/bin') or shutil.which(name)
        if found:
            yield name, [found, *args]
        else:
            skip(f'{name} is not installed')

def frame(function, file, line):
    """A frame in a common form: no name is '??', no file is ''."""
    file = '' if file.strip('?') == '' else os.path.normpath(file)
    return '??' if function.startswith('0x') else function, file, int(line) if line.isdigit() else 0

def names_of(trace):
    """{module: {offset: [frame]}}"""
    modules = {}
    for line in run(trace_names, trace).splitlines():
        if line.startswith('@'):
            module, offset = line[1:].rsplit('|', 1)
            frames = modules.setdefault(module, {}).setdefault(int(offset, 16), [])
        else:
            frames.append(frame(*line.rsplit('|', 2)))
    return modules

def addr2line(path, addresses):
    text = ''.join(f'{a:x}\n' for a in addresses)
    out = run('addr2line', '-a', '-i', '-f', '-C', '-e', path, input=text)
    result = []
    lines = iter(out.split('\n'))
    for line in lines:
        if re.fullmatch('0x[0-9a-f]+', line):
            result.append([])
        elif line:
            file, _, number = next(lines).rpartition(':')
            result[-1].append(frame(line, file, number.split()[0]))
    return result

def llvm(path, addresses):
    """None if it is not installed. Names are demangled by binutils: llvm's demangler spells some
    names differently and does not know others."""
    if not shutil.which('llvm-symbolizer'):
        return [None] * len(addresses)
    text = ''.join(f'{a:#x}\n' for a in addresses)
    out = run('llvm-symbolizer', '--no-demangle', '-i', '--output-style=LLVM', '-e', path, input=text)
    parts = [part.strip('\n').split('\n') for part in out.split('\n\n')[:len(addresses)]]
    names = iter(run('c++filt', '-i', input=''.join(f + '\n' for lines in parts for f in lines[0::2])).split('\n'))
    return [[frame(next(names), *place.rsplit(':', 2)[:2]) for place in lines[1::2]] for lines in parts]

ADDR2LINE, LLVM, MIXED, DIFFERENT = 'as addr2line', 'as llvm-symbolizer only', 'mixed', 'different'

def compare_frames(mine, a, b):
    if mine == a:
        return ADDR2LINE
    if mine == b:
        return LLVM
    if b and [f[0] for f in mine] == [f[0] for f in a] and [f[1:] for f in mine] == [f[1:] for f in b]:
        return MIXED
    return DIFFERENT

def compare(module, answers, count):
    path = os.path.realpath(module)
    if not os.path.isfile(path):
        return
    offsets = sorted(answers)
    # Offsets are return addresses: the lookup uses the byte before.
    addresses = [o - 1 for o in offsets]
    from_addr2line, from_llvm = addr2line(path, addresses), llvm(path, addresses)
    assert len(from_addr2line) == len(from_llvm) == len(offsets), f'{path}: {len(from_addr2line)} and {len(from_llvm)} answers of {len(offsets)}'
    for o, a, b in zip(offsets, from_addr2line, from_llvm):
        mine = answers[o]
        said = compare_frames(mine, a, b)
        count[said] += 1
        count['inlined'] += len(mine) > 1
        if said == DIFFERENT and count[DIFFERENT] <= 3:
            print(f'  {module} {o:#x}\n    ours      {str(mine)[:300]}\n    addr2line {str(a)[:300]}\n    llvm      {str(b)[:300]}')

unjudged = 0
with tempfile.TemporaryDirectory() as tmp:
    for name, command in programs(tmp):
        r = subprocess.run([heaplapse, 'record', '-q', '-f', '-o', f'{tmp}/t.hlt', '--', *command], capture_output=True, text=True)
        traces = sorted([*glob.glob(f'{tmp}/*.hlt'), *glob.glob(f'{tmp}/*.hlt.d/*.hlt')])
        check(traces, f'{name}: not recorded: {r.stderr[-300:]}')
        count = dict.fromkeys((ADDR2LINE, LLVM, MIXED, DIFFERENT, 'inlined'), 0)
        for trace in traces:
            for module, answers in names_of(trace).items():
                compare(module, answers, count)
        inlined = count.pop('inlined')
        total = sum(count.values())
        print(f'{name}: {len(traces)} traces, {total} addresses, {inlined} with inlined calls: ' +
              ', '.join(f'{n} {what}' for what, n in count.items()))
        check(total > 5, f'{name}: nothing to compare')
        if shutil.which('llvm-symbolizer'):
            check(count[DIFFERENT] == 0, f'{name}: {count[DIFFERENT]} of {total} addresses are as no other tool has them')
        else:
            unjudged += count[DIFFERENT]
if unjudged and not failures_so_far():
    print(f'SKIPPED: {unjudged} addresses differ from addr2line, and llvm-symbolizer is not installed to judge')
    sys.exit(77)
done()
