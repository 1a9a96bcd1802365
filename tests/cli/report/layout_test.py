#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""layout_test - what people see on terminals of 80, 120 and 200 columns: every view of a C and of a C++
trace against golden files, in UTF-8 and ASCII, with and without colours; and no line of any command is
wider than the terminal.

	layout_test.py HEAPLAPSE MKTRACE [--update]     --update rewrites the golden files: review the change
"""
import itertools, os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from pages import on_terminal, plain, too_long  # noqa: E402
from tap import case, finish  # noqa: E402

HEAPLAPSE, MKTRACE = map(os.path.abspath, sys.argv[1:3])
UPDATE = '--update' in sys.argv
GOLDEN = pathlib.Path(__file__).resolve().parent / 'layout'
WIDTHS = 80, 120, 200
UTF8, ASCII = {'LC_ALL': 'C.UTF-8'}, {'LC_ALL': 'C'}

# Names: module, offset, function, place. Nodes: caller, module, offset.
# A cache in C: a wrapper of malloc, a library without debug information, a function in a long file name.
C_NAMES = '''\
0 1000 main|cache.c 71
0 1100 serve_requests|cache.c 48
0 1200 cache_insert|cache.c 22
0 1300 xmalloc|util.c 9
0 1400 format_reply|reply.c 88
0 1400 append_field|reply.c 61
0 1500 config_load_defaults_from_environment|configuration_of_the_program.c 1203
1 2000 json_object_new_string|json_object.c 1137
2 3000 __libc_start_call_main|- 0
'''
# A ledger in C++: long names, templates, inlined calls, operator new.
CXX_NAMES = '''\
0 1000 main|main.cpp 12
0 1100 ledger::journal_t::read(ledger::parse_context_stack_t&)|journal.cc 458
0 1200 ledger::instance_t::parse_transaction_directive_with_metadata(char*, long, bool) const|textual.cc 1713
0 1200 std::vector<ledger::post_t*, std::allocator<ledger::post_t*> >::push_back(ledger::post_t* const&)|stl_vector.h 1287
0 1300 std::_Rb_tree<std::string, std::pair<std::string const, ledger::commodity_t*>, std::less<std::string> >::_M_insert(int)|stl_tree.h 2210
0 1400 ledger::commodity_pool_t::find_or_create(std::string const&, ledger::annotation_t const&)|pool.cc 301
0 1500 ledger::instance_t::parse_transaction_directive_without_metadata(char*, long, bool) const|textual.cc 1840
1 2000 boost::re_detail::regex_data<char, boost::regex_traits<char> >::compile(char const*)|regex.hpp 77
2 3000 __libc_start_call_main|- 0
'''
C_NODES = '- 2 3000', '0 0 1000', '1 0 1100', '2 0 1200', '3 0 1300', '2 0 1400', '5 0 1300', '1 0 1500', '2 1 2000', '1 1 2100'
CXX_NODES = '- 2 3000', '0 0 1000', '1 0 1100', '2 0 1200', '3 0 1300', '2 0 1400', '5 0 1300', '2 0 1500', '7 1 2000', '1 1 2100'


def describe(modules, names, nodes, calls, name=''):
    """A trace of 64 ms: blocks of six stacks and many sizes, some of which stay; three threads, four marks,
    and resident memory."""
    text = ''.join(f'module {m} -\n' for m in modules) + ''.join(f'node {n}\n' for n in nodes)
    for line in names.splitlines():
        module, offset, function = line.split(' ', 2)
        function, _, place = function.partition('|')
        text += f'name {module} {offset} {function.replace(" ", "%20")} {place}\n'
    text += f'thread 4000\nthread 4001\nthread 4002\n{name}'
    live, n = [], 0
    for step in range(400):
        time = 160000 * step // 64 * 64
        size = (100, 5000, 70000, 24, 3, 1000, 1 << 20, 0)[step % 8] if step % 50 else 12345678
        address = 0x10000000 + 0x200000 * (step % 8) + 0x5000 * step
        text += f'alloc {time} {step % 2} {size} {(4, 6, 7, 8, 9, 4, 4, 6)[step % 8]} {calls[step % len(calls)]} {address:x}\n'
        live.append(n)
        n += 1
        if step % 3:
            text += f'free {time + 64 * (1 + step % 5)} {(step + step // 7) % 3} {live.pop(0 if step % 7 == 0 else -1)} 11\n'
        if step in (100, 101, 300):
            text += f'extra {time + 640} {step % 2} 0 step%20{step}\n'
        if step == 200:
            text += f'extra {time + 640} 1 0 after%20the%20requests%20of%20the%20first%20client\nchunk\n'
        if step % 100 == 50:
            text += f'rss {time} {30000000 + 100000 * step}\n'
    return text + 'end 0 0 64000000\n'


TRACES = {
    'c': describe(['/opt/cache/bin/cache', '/usr/lib/x86_64-linux-gnu/libjson-c.so.5', '/nowhere/libc.so.6'], C_NAMES, C_NODES, (0, 0, 1, 2)),
    'cxx': describe(['/opt/ledger-with-a-long-directory-name/bin/ledger', '/usr/lib/x86_64-linux-gnu/libboost_regex.so.1.74.0', '/nowhere/libc.so.6'],
                    CXX_NAMES, CXX_NODES, (9, 9, 0, 9), 'extra 64 4 0 transaction-par\n'),
}
GROUPS = 'stack function site file module thread call size life snapshot tag'.split()
VIEWS = {
    'overview': [], 'peak': ['--peak'], 'top-down': ['--allocated', '--top-down'], 'leaks': ['--leaks'], 'sites': ['--sites', '--allocated'], 'sizes': ['--sizes'],
    'lifetimes': ['--lifetimes'], 'threads': ['--threads'], 'timeline': ['--timeline'], 'timeline of a range': ['--timeline', '--range', '10%..60%'], 'timeline by site': ['--timeline', '-g', 'site'], 'timeline by size': ['--timeline', '-g', 'size'],
    'fragmentation': ['--fragmentation'], 'snapshots by function': ['--snapshots', '-g', 'function'],
    'filter': ['--peak', '--filter', 'fn:xmalloc,json,parse size:>=1K time:10ms..60ms', '-x', 'config_load_defaults'],
    'stacks': ['-g', 'stack'], 'by thread': ['-g', 'thread'],
}
# Views that are not in golden files: only the width of their lines is tested.
MORE = [['--temporary'], ['--growth', '10%..90%'], ['--at', '50%'], ['--snapshots'], ['--snapshot-deltas'], ['--cumulative-delta'], ['--full-stacks'],
        ['--explain', '--sites', '--filter', 'size:>=1K'], ['-v'], *(['-g', g] for g in GROUPS), *([v, '--bytes'] for v in
        ('--sites', '--threads', '--sizes', '--fragmentation', '--leaks', '--timeline')), ['--sites', '--min', '0', '--allocated', '--full-names']]


def show(args, columns, env, *more):
    text, status = on_terminal([HEAPLAPSE, *args, *more], columns, env)
    if status:
        case(False, f'{args} at {columns}: status {status}', text)
    return text


def check_golden(name, text):
    path = GOLDEN / f'{name}.txt'
    if UPDATE:
        path.write_text(text)
    case(path.exists() and path.read_text() == text, f'golden: {name}', text)


def golden(trace):
    """A file for each trace, width and character set, with all views, and one with colours."""
    for columns in WIDTHS:
        coloured = {name: show(['report', *args], columns, UTF8, f'{trace}.hlt') for name, args in VIEWS.items()}
        check_golden(f'{trace}-{columns}', ''.join(f'=== {name}\n{plain(text)}\n' for name, text in coloured.items()))
        text = ''.join(f'=== {name}\n{plain(show(["report", *args], columns, ASCII, f"{trace}.hlt"))}\n' for name, args in VIEWS.items())
        check_golden(f'{trace}-{columns}-ascii', text)
        case(text.isascii(), f'ascii: {trace} at {columns}')
        text = ''.join(f'=== {name}\n{coloured[name]}\n' for name in ('peak', 'sites', 'threads'))
        check_golden(f'{trace}-{columns}-colours', text.replace('\x1b', '<ESC>'))
        text = show(['report', '--peak'], columns, {**UTF8, 'NO_COLOR': '1'}, f'{trace}.hlt')
        case(text == plain(coloured['peak']) != coloured['peak'], f'colours: {trace} without, at {columns}', text)


def widths(traces):
    """Messages begin with the program's name and are not laid out: they may be longer."""
    for trace, columns in itertools.product(traces, (80, 120)):
        wide = []
        for args in itertools.chain([['report', *a] for a in VIEWS.values()], [['report', *a] for a in MORE],
                                    [['info'], ['log'], ['report', '-g', 'process', 'c.hlt']]):
            text = show(args, columns, UTF8, trace)
            wide += [f'{args}: {line}' for line in too_long(text, columns) if not line.startswith('heaplapse: ')]
        case(not wide, f'widths: {trace} at {columns}', '\n'.join(wide))


def programs():
    """The summary of record, doctor, and the views of a recorded program."""
    os.mkdir('bin')
    os.symlink(HEAPLAPSE, 'bin/heaplapse')
    env = {**UTF8, 'PATH': f'{os.getcwd()}/bin:{os.environ["PATH"]}'}
    on_terminal(['heaplapse', 'record', '-q', '-f', '--free-stacks', '--mmap', '--exit-wait=60', '-o', 'mmap.hlt', sys.executable, '-c',
                 'import json, mmap; kept = [mmap.mmap(-1, 4096) for _ in range(9)]; json.dumps(list(range(1000)))'], 80, env)
    for columns, command in itertools.product((80, 120), (
            ['report', '--mmaps', 'mmap.hlt'], ['report', '--mmaps', '--full-stacks', 'mmap.hlt'], ['report', '--resident', 'mmap.hlt'], ['report', '--freed-by', 'mmap.hlt'],
            ['record', '--summary', '-f', '-o', 'ls.hlt', 'ls', '/'], ['record', '--summary', '-f', '-o', 'tar.hlt', 'tar', '--version'],
            ['doctor', 'ls'], ['doctor', 'tar'], ['doctor'], ['info', 'ls.hlt'], ['log', 'ls.hlt'], ['report', '--leaks', 'ls.hlt'],
            ['report', '--sites', 'tar.hlt'], ['report', 'tar.hlt'])):
        text, status = on_terminal(['heaplapse', *command], columns, env)
        wide = too_long(text, columns)
        case(text and not wide and (status == 0 or command[0] == 'doctor'), f'programs: {command} at {columns}', f'{status} {wide} {text}')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, description in TRACES.items():
        subprocess.run([MKTRACE, f'{name}.hlt'], input=description.encode(), check=True)
    for name in TRACES:
        golden(name)
    widths([f'{name}.hlt' for name in TRACES])
    programs()
    os.chdir('/')
finish()
