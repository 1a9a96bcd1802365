#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""overview_test - the overview on terminals of several widths against golden files, its length, and when
it is shown.

	overview_test.py HEAPLAPSE MKTRACE GEN-TRACE PROGRAM [--update]     --update rewrites the golden files: review the change
"""
import fcntl, html, json, os, pathlib, pty, re, shlex, struct, subprocess, sys, tempfile, termios, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import tap

heaplapse, mktrace, gen_trace, program = map(os.path.abspath, sys.argv[1:5])
update = '--update' in sys.argv
GOLDEN = pathlib.Path(__file__).resolve().parent / 'golden'
LINES = 40
SECOND = 1000000000
MIB = 1 << 20

# A server: a cache that grows, a formatter whose strings live shortly, notes that hold one page each, a
# document of a C++ library that is read and freed, and a library without symbols.
SERVER = '''module /opt/app/bin/server -
module /usr/lib/libledger.so.3 -
module /usr/lib/libfoo.so.1 -
name 0 100 main /src/main.c 10
name 0 110 cache_insert /src/cache.c 88
name 0 120 fmt_row /src/row.c 88
name 0 130 note_keep /src/notes.c 22
name 1 140 ledger::journal_t::read_textual(ledger::parse_context_stack_t&,%20std::function<void%20(ledger::xact_t&)>) /src/journal/textual.cc 1407
node - 0 100
node 0 0 110
node 0 0 120
node 0 0 130
node 0 1 140
node 0 2 2010
thread 42
'''
END = 60 * SECOND


def environment(**env):
    kept = {k: v for k, v in os.environ.items() if k in ('PATH', 'HOME', 'TMPDIR', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LD_LIBRARY_PATH')}
    return {**kept, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', 'XDG_CACHE_HOME': os.getcwd() + '/cache', **env}


def run(*args, **env):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, env=environment(**env), timeout=120)


def terminal(*args, columns, **env):
    """The output of a command whose stdout and stderr are a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        time.sleep(0.02)  # until the terminal has its size
        os.execve(heaplapse, ['heaplapse', *args], environment(**env))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    out = b''
    try:
        while data := os.read(fd, 65536):
            out += data
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return out.decode().replace('\r\n', '\n')


def make(name, text):
    subprocess.run([mktrace, name], input=text.encode(), check=True)
    return name


def server():
    """The events in order: (time, line). A free names the ordinal of its block."""
    events, at = [], lambda ns: int(ns) // 64 * 64
    def block(ns, size, node, address, freed=None):
        events.append((at(ns), 'alloc', (size, node, address), freed and at(freed)))
    for i in range(300):
        block(i * END / 300, 100 * 1024, 1, 0x100000000 + i * 0x20000)
    for i in range(70000):
        block(SECOND + i * 500000, 24, 2, 0x2000, SECOND + i * 500000 + 64)
    for i in range(3000):
        block(2 * SECOND + i * 1000, 16, 3, 0x200000000 + i * 4096)
    for i in range(20):
        block(20 * SECOND + i * SECOND / 10, MIB, 4, 0x300000000 + i * 2 * MIB, 40 * SECOND)
    for i in range(3):
        block(30 * SECOND + i * 1000, MIB // 3, 5, 0x400000000 + i * MIB)
    lines, ordinal = [], 0
    events.sort(key=lambda e: e[0])
    pending = []
    for ns, _, (size, node, address), freed in events:
        for free_ns, n in sorted(p for p in pending if p[0] <= ns):
            lines.append(f'free {free_ns} 0 {n} 11')
        pending = [p for p in pending if p[0] > ns]
        lines.append(f'alloc {ns} 0 {size} {node} 0 {address:x}')
        if freed:
            pending.append((freed, ordinal))
        ordinal += 1
    lines += [f'free {ns} 0 {n} 11' for ns, n in sorted(pending)]
    lines += [f'extra {45 * SECOND} 0 0 reload', f'rss {19 * SECOND} {30 * MIB}', f'rss {39 * SECOND} {70 * MIB}']
    lines = sorted(lines, key=lambda l: int(l.split()[1])) # stable: the order of equal times is kept
    return SERVER + '\n'.join(lines) + f'\nend 0 0 {END}\n'


def check_golden(trace):
    """The output on a terminal: no line is wider, and ASCII is ASCII."""
    for columns in 80, 120, 200:
        for code, locale in ('utf8', 'C.UTF-8'), ('ascii', 'C'):
            for colors in 'color', 'plain':
                out = terminal('report', '--no-pager', trace, columns=columns, LC_ALL=locale, NO_COLOR='' if colors == 'color' else '1')
                path = GOLDEN / f'overview-{columns}-{code}-{colors}.txt'
                if update:
                    path.write_text(out)
                what = f'{columns} columns, {code}, {colors}'
                tap.case(path.exists() and path.read_text() == out, what, out)
                bare = re.sub('\033\\[[0-9]*m', '', out)
                wide = [l for l in bare.splitlines() if len(l) > columns]
                tap.case(not wide and len(out.splitlines()) <= LINES, f'{what}: it fits', wide)
                tap.case(code == 'utf8' or out.isascii(), f'{what}: the characters')
                tap.case((colors == 'color') == ('\033' in out), f'{what}: the colours')


def check_facts(trace):
    """The numbers are those of the other views."""
    found = json.loads(run('report', '--overview', '--json', trace).stdout)
    def total(*args):
        answer = json.loads(run('report', '--json', *args, trace).stdout)
        return answer['total_bytes'], answer['total_blocks'], answer
    peak, end, all_, short = (total(*a) for a in (['--peak'], ['--leaks'], ['--allocated'], ['--temporary=1024ns']))
    tap.case((found['peak_bytes'], found['peak_blocks']) == peak[:2], 'the peak is that of --peak', found)
    tap.case((found['end_bytes'], found['end_blocks']) == end[:2], 'the end is that of --leaks', found)
    tap.case((found['allocated_bytes'], found['allocated_blocks']) == all_[:2], 'allocations are those of --allocated', found)
    tap.case((found['short_lived_below_ns'], found['short_lived_blocks']) == (1024, short[1]), 'short-lived blocks are those of --temporary', found)
    for name, args in ('held', ['--peak']), ('left', ['--leaks']):
        rows = json.loads(run('report', '--json', '--group=site', *args, trace).stdout)['rows'][:5]
        key = lambda r: (r['function'], r['line'], r['bytes'], r['blocks'])
        tap.case([key(r) for r in found[name]['rows']] == [key(r) for r in rows], f'{name}: the rows of --group=site', found[name])
    columns = json.loads(run('report', '--json', '--timeline', trace).stdout)
    tap.case((found['columns'], found['marks']) == (columns['columns'], columns['marks']), 'the columns and marks of --timeline')
    tap.case([v['kind'] for v in found['verdicts']] == ['growing', 'short_lived', 'sparse_pages'], 'the verdicts', found['verdicts'])
    for v in found['verdicts']:
        shown = run('report', *v['options'].split(), trace)
        tap.case(shown.returncode == 0 and v['function'] in shown.stdout, f'{v["kind"]}: its command shows the site', shown.stdout + shown.stderr)
        row = json.loads(run('report', '--json', *v['options'].split(), trace).stdout)
        first = (row.get('rows') or row['holders'])[0]
        tap.case((first['function'], first['line']) == (v['function'], v['line']), f'{v["kind"]}: in its first row', first)
    run('export', '-f', 'html', '-o', 'page.html', trace)
    page = html.unescape(pathlib.Path('page.html').read_text())
    for v in found['verdicts']:
        tap.case(f'<li class="verdict">{v["text"]} <code>report {v["options"]}</code></li>' in page, f'{v["kind"]}: on the page', page[:3000])
    shown = run("info", trace).stdout
    tap.case([v['text'] for v in found['verdicts']] == re.findall("^▲ (.*)$", shown, re.M), "info has the same sentences", shown)
    growing, short, pages = found['verdicts']
    tap.case(growing['function'] in [r['function'] for r in found['growing']['rows']], 'the list has the growing site', found['growing'])
    view = json.loads(run('report', '--json', *pages['options'].split(), trace).stdout)
    tap.case((pages['page_bytes'], pages['live_bytes']) == (view['sparse_pages'] * 4096, view['sparse_bytes']), 'the pages of --fragmentation', view)
    tap.case(view['sparse_below_bytes'] * 100 == 4096 * pages['used_below_percent'], 'and its limit', view)
    tap.case((found['resident_bytes'], found['resident_time_ns']) == (70 * MIB, 39 * SECOND), 'the highest sample of the resident set', found)


def check_notes():
    """An empty list of growing sites says what is true."""
    head = 'module /a -\nnode - 0 1\nnode - 0 2\nthread 1\nalloc 64 0 100000 0 0 1000000\n'
    late = ''.join(f'alloc {i * 640} 0 1 1 0 {2000000 + i * 64:x}\n' for i in range(1, 100))
    make('little.hlt', head + late + 'end 0 0 64000\n')
    make('flat.hlt', head + 'end 0 0 64000\n')
    for name, note in ('little', 'nothing above 1 % of the peak'), ('flat', 'nothing: no site held more all through the last third'):
        out = run('report', f'{name}.hlt').stdout
        tap.case(re.search(f'^growing +{note}$', out, re.M), f'{name}: {note}', out)
    whole = run('report', '--overview', '-n', '0', 'little.hlt').stdout
    tap.case(re.search(r'^growing +blocks', whole, re.M) and '+' in whole, '-n 0 shows the growth', whole)


def check_resident():
    """Resident memory that is not heap has a hint, if it is enough."""
    head = 'module /a -\nnode - 0 1\nthread 1\n'
    for mib, heap, hinted in (100, 20, True), (40, 9, False), (100, 60, False):
        make('rss.hlt', head + f'alloc 64 0 {heap * MIB} 0 0\nrss 6400 {mib * MIB}\nend 0 0 12800\n')
        out = run('report', 'rss.hlt').stdout
        tap.case(('record --mmap shows it with report --resident, --mmaps' in ' '.join(out.split())) == hinted, f'{mib} MiB with a heap of {heap}', out)


def check_library():
    """A call site in a library without debug information: the function of the program that needs it is named."""
    trace = ('module /opt/app/bin/app -\nmodule /usr/lib/libz.so.1 -\nname 0 100 main /src/main.c 10\n'
             'name 0 110 header_read /src/pack.c 7\nnode - 0 100\nnode 0 0 110\nnode 1 1 3000\nnode 2 1 3010\nthread 1\n')
    trace += ''.join(f'alloc {i * 640} 0 {MIB} 3 0 100000\nfree {i * 640 + 64} 0 {i - 1}\n' for i in range(1, 101))
    make('library.hlt', trace + 'end 0 0 128000\n')
    out = ' '.join(run('report', 'library.hlt').stdout.split())
    tap.case('100.0 % by 0x3010 [libz.so.1], from header_read pack.c:7' in out, 'a statement names the caller with a source', out)
    tap.case('0x3010 [libz.so.1] from header_read pack.c:7' in out, 'a row names the caller with a source', out)


def check_modes():
    """Every command that the overview of a recording names is answered; estimates are called so."""
    for mode in 'trace', 'count', 'cull', 'sample':
        trace = f'{mode}.hlt'
        done = run('record', f'--mode={mode}', '-o', trace, '--', program)
        tap.case(done.returncode == 0, f'{mode}: recorded', done.stderr)
        found = json.loads(run('report', '--overview', '--json', trace).stdout)
        out = run('report', trace).stdout
        commands = re.findall(r'^  \S+ report (--\S.*) ' + trace, out, re.M)
        tap.case(len(commands) >= 2 + len(found['verdicts']) and [v['kind'] for v in found['verdicts']] == ['short_lived'],
                 f'{mode}: a verdict and commands', out)
        tap.case(mode != 'sample' or 'nothing' not in out and re.search(r'^[!▲] an estimated [\d.]+ % of', out, re.M),
                 f'{mode}: nothing is claimed of blocks without a sample', out)
        wide = [l for l in terminal('report', '--no-pager', trace, columns=80, NO_COLOR='1').splitlines() if len(l) > 80 and 'call site' in l]
        tap.case(not wide, f'{mode}: the headings fit', wide)
        for options in commands:
            done = run('report', *options.split(), trace)
            tap.case(done.returncode == 0, f'{mode}: {options} is answered', done.stderr)
        lines = re.findall(r'^  (?:peak|not freed|allocations) .*', out, re.M) + re.findall(r'^.* blocks  .*call site.*', out, re.M)
        tap.case(len(lines) >= 5 and {'estimate' in l for l in lines} == {mode == 'sample'} == {found.get('estimated', False)},
                 f'{mode}: what is estimated', out)


def check_axis():
    """Marks of one column, one of them the peak's, are all on the axis; the legend begins below ^."""
    head = 'module /a -\nnode - 0 1\nthread 1\n'
    make('near.hlt', head + 'alloc 6400 0 10 0 0\n' + ''.join(f'extra {t} 0 0 m{t}\n' for t in (6400, 6464, 6528)) + 'end 0 0 12800\n')
    lines = run('report', 'near.hlt').stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if '└' in line)
    tap.case(sorted(c for c in lines[at] if c in '^123') == list('123^'), 'all marks are on the axis', lines[at])
    make('early.hlt', head + 'alloc 6400 0 10 0 0\nfree 6656 0 0 11\nend 0 0 12800\n')
    lines = run('report', 'early.hlt').stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if '└' in line)
    tap.case(lines[at].index('^') == lines[at + 1].index('^'), 'the label is below its mark', lines[at:at + 2])


def check_partial(trace):
    """A trace that begins late, and an import without an order of events: the overview, the page and info agree."""
    subprocess.run([gen_trace, '-n', '300000', '--base', '100000', '-o', 'begins.hlt'], check=True, capture_output=True)
    info, found = (json.loads(run(*args, 'begins.hlt').stdout) for args in (['info', '--json'], ['report', '--overview', '--json']))
    tap.case((found['allocated_blocks'], found['allocated_bytes']) == (info['totals']['allocations'], info['totals']['bytes_allocated']),
             'all allocations of the run, as in info', found['allocated_blocks'])
    run('export', '-f', 'pprof', '-o', 'server.pb.gz', trace)
    run('import', '-o', 'import.hlt', 'server.pb.gz')
    run('export', '-f', 'html', '-o', 'import.html', 'import.hlt')
    page, out = pathlib.Path('import.html').read_text(), run('report', 'import.hlt').stdout
    figure = re.search(r'id="figure-peak">.*', page)
    tap.case(figure and 'not known: the trace has no order of events' in figure[0] and 'peak                   -  not known' in out, 'an import has no peak', page[:3000])
    tap.case('<li>threads not known</li>' in page and 'pid 0' not in page and ', threads not known\n' in out, 'and no threads', out)


def check_default(trace):
    """When the overview is the default."""
    overview = run('report', '--overview', trace).stdout
    tap.case(overview.startswith('made-up: 60.000 s, 1 thread\n'), 'the title', overview[:300])
    tap.case(run('report', trace).stdout == overview, 'it is the default')
    for args in ['--bytes'], ['--full-names'], ['--max-time=10min'], ['--no-default-suppressions']:
        tap.case(run('report', *args, trace).stdout.startswith('made-up: 60'), f'{args[0]} leaves it')
    for args in ['--top-down'], ['--full-stacks'], ['--min=1'], ['-n', '3'], ['--sort=blocks'], ['--max-rows=9'], ['--max-bytes=9K']:
        out = run('report', *args, trace).stdout
        tap.case(out.startswith('live at the peak') and out == run('report', '--peak', *args, trace).stdout, f'{args[0]} asks for the tree', out[:300])
    tree = json.loads(run('report', '--json', trace).stdout)
    tap.case('nodes' in tree and 'held' not in tree, 'JSON is the tree of the peak without a question')
    for args in ['--peak'], ['--leaks'], ['--at=1s'], ['--range=1s..2s']:
        done = run('report', '--overview', *args, trace)
        tap.case(done.returncode == 2 and 'omit ' + args[0].partition('=')[0] in done.stderr, f'--overview {args[0]} is refused', done.stderr)
    both = run('report', trace, 'small.hlt').stdout
    tap.case(both.count('=== ') == 2 and both.count('held at the peak') == 2, 'of several traces each has one', both)
    os.mkdir('only')
    os.link(trace, 'only/x.hlt')
    done = subprocess.run([heaplapse, 'report'], cwd='only', capture_output=True, text=True, env=environment())
    tap.case(' report --peak x.hlt ' in done.stdout, 'the commands name the newest trace, too', done.stdout)


def check_filter(trace):
    """A filter on stacks and one on blocks select the same sites in the same way."""
    for text, function in ('fn:cache_insert', 'cache_insert'), ('size:102400', 'cache_insert'), ('fn:fmt_row', 'fmt_row'), ('size:24', 'fmt_row'):
        out = run('report', '--filter', text, trace).stdout
        sites = set(re.findall(r'\d  [▁▂▃▄▅▆▇█ ]{8,24}  (\S+)', out))
        tap.case('filter: ' in out and sites == {function}, f'{text}: only {function}', out)
    a, b = (json.loads(run('report', '--overview', '--json', '--filter', f, trace).stdout) for f in ('fn:cache_insert', 'size:102400'))
    options = [[v.pop('options') for v in x['verdicts']] for x in (a, b)]
    tap.case(options[0] != options[1] and a.pop('filter') != b.pop('filter') and a == b, 'both are equal', f'{a} {b}')
    tap.case(a['resident_bytes'] is None, 'resident memory is not that of a part')
    for text in 'fn:cache_insert', 'fn:cache_insert size:>1K':
        out = run('report', '--filter', text, trace).stdout
        commands = re.findall(r'^  \S*heaplapse (report .*?server\.hlt)', out, re.M)
        tap.case(len(commands) == 4 and len(re.findall('^▲', out, re.M)) == 1, f'{text}: three commands, and one of the verdict', out)
        for command in commands:
            done = run(*shlex.split(command))
            tap.case(f'filter: {text}\n' in done.stdout, f'{command}: about the same blocks', done.stdout + done.stderr)
    found = json.loads(run('report', '--overview', '--json', '--no-wrappers', '--filter', 'fn:cache_insert', trace).stdout)
    tap.case([v['options'] for v in found['verdicts']] == ['--growth 4%..95% --sites --filter fn:cache_insert --no-wrappers'],
             'options of a verdict in JSON', found['verdicts'])
    none = run('report', '--filter', 'size:7', trace)
    tap.case(none.returncode == 0 and '0 B  in 0 blocks' in none.stdout and len(none.stdout.splitlines()) < 6, 'nothing matches', none.stdout)


def check_length():
    """At most 40 lines for any trace, whole or damaged."""
    for name, args in ('plain', []), ('strange', ['--strange', '--free-stacks']), ('late', ['--base', '100000']), ('many', ['--nodes', '60000', '--threads', '30']):
        subprocess.run([gen_trace, '-n', '300000', *args, '-o', f'{name}.hlt'], check=True, capture_output=True)
    pathlib.Path('cut.hlt').write_bytes(pathlib.Path('strange.hlt').read_bytes()[:100000])
    bad = bytearray(pathlib.Path('plain.hlt').read_bytes())
    bad[len(bad) // 2] ^= 0x55
    pathlib.Path('bad.hlt').write_bytes(bad)
    make('empty.hlt', 'end 0 0 64000\n')
    make('marks.hlt', 'module /a -\nnode - 0 1\nthread 1\nalloc 64 0 10 0 0\n' + ''.join(f'extra {i * 64} 0 0 mark-{"x" * (i % 90)}\n' for i in range(1, 400)) + 'end 0 0 64000\n')
    for name in 'plain', 'strange', 'late', 'many', 'cut', 'bad', 'empty', 'marks', 'small', 'server':
        for columns in 80, 40:
            done = run('report', f'{name}.hlt', COLUMNS=str(columns))
            out = terminal('report', '--no-pager', f'{name}.hlt', columns=columns, NO_COLOR='1')
            at = out.find('\nmade-up: ') + 1
            shown = out[at:].splitlines()
            tap.case(done.returncode == 0 and len(done.stdout.splitlines()) <= LINES and (columns < 80 or len(shown) <= LINES),
                     f'{name}: {columns} columns', f'{len(shown)} lines\n{done.stderr}{out}')


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        trace = make('server.hlt', server())
        make('small.hlt', 'module /a -\nnode - 0 1\nthread 1\nalloc 64 0 10 0 0\nend 0 0 640\n')
        check_golden(trace)
        check_facts(trace)
        check_notes()
        check_resident()
        check_library()
        check_modes()
        check_partial(trace)
        check_axis()
        check_default(trace)
        check_filter(trace)
        check_length()
        os.chdir('/')
    tap.finish()


main()
