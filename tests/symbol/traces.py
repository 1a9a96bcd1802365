#!/usr/bin/env python3
"""Every address in real traces: names, lines and inline chains as addr2line -i -f -C gives them.

usage: traces.py HEAPLAPSE TRACE-NAMES SUBJECT...
Programs that are not installed are skipped by name."""
import glob, os, re, sys, tempfile
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import *

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

def programs(tmp):
    """(name, command) of what there is to record"""
    for s in subjects:
        yield os.path.basename(s), [s]
    with open(f'{tmp}/threads.c', 'w') as f:
        f.write(THREADS)
    run('cc', '-O2', '-g', '-pthread', '-o', f'{tmp}/threads', f'{tmp}/threads.c')
    yield 'threads', [f'{tmp}/threads']
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

def names_of(trace):
    """{module: {offset: [(function, file, line)]}}"""
    modules = {}
    for line in run(trace_names, trace).splitlines():
        if line.startswith('@'):
            module, offset = line[1:].rsplit('|', 1)
            frames = modules.setdefault(module, {}).setdefault(int(offset, 16), [])
        else:
            function, file, number = line.rsplit('|', 2)
            frames.append((function, os.path.basename(file), int(number)))
    return modules

def theirs(path, addresses):
    text = ''.join(f'{a:x}\n' for a in addresses)
    out = subprocess.run(['addr2line', '-a', '-i', '-f', '-C', '-e', path], input=text, capture_output=True, text=True).stdout
    result = []
    lines = iter(out.split('\n'))
    for line in lines:
        if re.fullmatch('0x[0-9a-f]+', line):
            result.append([])
        elif line:
            file, _, number = next(lines).rpartition(':')
            number = number.split()[0]
            result[-1].append((line, os.path.basename(file), int(number) if number.isdigit() else 0))
    return result

def symbols(path):
    """Names by address, of the tables that addr2line reads."""
    at = {}
    for options in (['-C'], ['-C', '-D']):
        for line in subprocess.run(['nm', *options, path], capture_output=True, text=True).stdout.splitlines():
            p = line.split(None, 2)
            if len(p) == 3 and len(p[1]) == 1 and p[1] in 'tTwWiuVv':
                at.setdefault(int(p[0], 16), set()).add(p[2].split('@')[0])
    return sorted(at), at

def around(table, address):
    import bisect
    starts, at = table
    i = bisect.bisect_right(starts, address)
    return at[starts[i - 1]] if i else set()

def plain(name):
    """addr2line -C keeps Rust's hash, and the version of a symbol."""
    return re.sub(r'::h[0-9a-f]{16}$', '', name.split('@')[0])

def equal(mine, other, table, address, judge):
    """Each name and each place must be that of one of the two. Names from the ELF tables may be any of those that share an
    address; behind the end of a function, addr2line still gives its name, llvm-symbolizer and we do not."""
    if len(mine) == 1 and mine[0][0].startswith('0x'):
        return judge is None or judge[0][0] == '??'
    alone, judge = judge is None, judge or other
    if len(mine) != len(other) or len(mine) != len(judge):
        return False
    elf = around(table, address)
    for (f, *place), (g, *gplace), (h, *hplace) in zip(mine, other, judge):
        places = [(file.strip('?'), line) for file, line in (gplace, hplace)]
        if plain(f) not in (plain(g), plain(h)) and f not in elf and not (alone and g in elf):
            return False
        if (place[0].strip('?'), place[1]) not in places and not (alone and place[1] == gplace[1]):
            return False
    return True

def llvm(path, addresses):
    """What llvm-symbolizer says, or None without it. It decides where addr2line is wrong: that of binutils 2.40 gives code
    from a file that another one includes the name of the other, and an inlined static function the name around it."""
    if not shutil.which('llvm-symbolizer'):
        return [None] * len(addresses)
    text = ''.join(f'{a:#x}\n' for a in addresses)
    out = run('llvm-symbolizer', '-C', '-i', '--output-style=LLVM', '-e', path, input=text)
    result = []
    for part in out.split('\n\n')[:len(addresses)]:
        lines = part.strip('\n').split('\n')
        frames = []
        for f, place in zip(lines[0::2], lines[1::2]):
            file, line, _ = place.rsplit(':', 2)
            frames.append((f, os.path.basename(file), int(line)))
        result.append(frames)
    return result

def strictly(mine, other):
    return [(plain(f), file.strip('?'), line) for f, file, line in mine] == \
        [(plain(f), file.strip('?'), line) for f, file, line in other]

def compare(name, module, answers):
    path = os.path.realpath(module)
    if not os.path.isfile(path):
        return 0, 0, 0
    offsets = sorted(answers)
    other = theirs(path, [o - 1 for o in offsets])
    judge = llvm(path, [o - 1 for o in offsets])
    table = symbols(path)
    different = inlined = 0
    for o, b, c in zip(offsets, other, judge):
        mine = answers[o]
        inlined += len(mine) > 1
        if strictly(mine, b) or (c and strictly(mine, c)) or equal(mine, b, table, o - 1, c):
            continue
        different += 1
        if different <= 3:
            print(f'  {module} {o:#x}\n    ours      {str(mine)[:300]}\n    addr2line {str(b)[:300]}\n    llvm      {str(c)[:300]}')
    return len(offsets), inlined, different

with tempfile.TemporaryDirectory() as tmp:
    for name, command in programs(tmp):
        for old in glob.glob(f'{tmp}/*.hlt'):
            os.unlink(old)
        r = subprocess.run([heaplapse, 'record', '-q', '-o', f'{tmp}/t.hlt', '--', *command], capture_output=True, text=True)
        traces = sorted(glob.glob(f'{tmp}/*.hlt'))
        check(traces, f'{name}: not recorded: {r.stderr[-300:]}')
        total = inlined = different = 0
        for trace in traces:
            for module, answers in names_of(trace).items():
                n, i, d = compare(name, module, answers)
                total, inlined, different = total + n, inlined + i, different + d
        print(f'{name}: {len(traces)} traces, {total} addresses, {inlined} with inlined calls, {different} different')
        check(total > 5, f'{name}: nothing to compare')
        check(different == 0, f'{name}: {different} of {total} addresses differ from addr2line')
done()
