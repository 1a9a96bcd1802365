#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""timeline_test - export: `csv` by Python's reader, `firefox` and `chrome` by the Firefox
Profiler's own program (profiler-cli), which imports both."""
import collections, csv, io, json, os, subprocess, tempfile, time

from viewers import export, grouped, make_traces, npm, programs, record_several, report, run, run_ok, stacks, total
from npm_packages import node_program
import tap

QUESTIONS = ([], ['--allocated'], ['--leaks'], ['--peak'], ['--temporary'], ['--growth', '20%..70%'], ['--range', '..40%'],
             ['--allocated', '--filter', 'life:<1ms'])
GROUPS = 'stack function site file module thread call size life snapshot tag'.split()


def check_csv(name, trace):
    for args in QUESTIONS:
        rows = list(csv.DictReader(io.StringIO(export('csv', *args, trace).decode())))
        found = sum(int(r['size']) for r in rows), len(rows)
        tap.case(found == total(*(args or ['--allocated']), trace), f'csv, {name} {args}', f'{found}')
    rows = list(csv.DictReader(io.StringIO(export('csv', trace).decode())))
    sites = collections.Counter()
    for r in rows:
        sites[r['function'], r['file'] or None, int(r['line'] or 0), r['module'] or None] += int(r['size'])
    wanted = {(r['function'], r['file'], r['line'], r['module']): r['bytes'] for r in report('--allocated', '-g', 'site', trace)['rows']}
    tap.case(dict(sites) == wanted, f'csv, {name}: sites', f'{set(sites.items()) ^ set(wanted.items())}')
    same = json.loads(export('json', trace))['allocations']
    tap.case([(str(a['id']), str(a['size']), a['address'], '' if a['freed_ns'] is None else str(a['freed_ns']), a['call']) for a in same] ==
             [(r['id'], r['size'], r['address'], r['freed_ns'], r['call']) for r in rows], f'csv, {name}: what json has')
    for group in GROUPS:
        rows = list(csv.DictReader(io.StringIO(export('csv', '-g', group, trace).decode())))
        wanted = [(r['name'], str(r['bytes']), str(r['blocks'])) for r in report('-g', group, trace)['rows']]
        tap.case(all('bytes_margin' not in r for r in rows), f'csv, {name}: by {group}: no margin of what is exact')
        tap.case([(r[group], r['bytes'], r['blocks']) for r in rows] == wanted, f'csv, {name}: by {group}', f'{rows[:3]} {wanted[:3]}')


class Session:
    """A daemon of profiler-cli that has loaded a file, with one command at a time.

    A command for a session that has no files yet removes its files, and so can remove those that a starting daemon
    writes at that moment: the daemon then runs on and cannot be reached. The command `load` does not avoid this and
    gives the daemon 500 ms to start. So the daemon is started here, and the first command waits for current.txt, which
    the daemon writes last. Each session has a directory of its own: an ended daemon removes current.txt."""

    def __init__(self, path):
        self.folder = tempfile.mkdtemp(dir=folder)
        # without symbols: a server of symbols need not be reachable
        self.env = dict(os.environ, PROFILER_CLI_SESSION_DIR=self.folder, PROFILER_CLI_NO_SYMBOLICATE='1', HOME=folder)
        self.command = [node_program(npm()), f'{npm()}/node_modules/.bin/pq']
        self.daemon = subprocess.Popen([*self.command, '--daemon', path, '--session', 'session'], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.env)
        self.wait(lambda: os.path.exists(f'{self.folder}/current.txt'))
        self.wait(lambda: 'still loading' not in self.run('status'))
        self.status = self.run('status')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait()

    def wait(self, is_done):
        limit = time.monotonic() + 120
        while not is_done() and self.daemon.poll() is None and time.monotonic() < limit:
            time.sleep(0.1)

    def run(self, *args):
        """The output of a command, the error included."""
        r = subprocess.run([*self.command, *map(str, args), '--session', 'session'], capture_output=True, text=True, env=self.env, timeout=120)
        return r.stdout if r.returncode == 0 else f'{r.returncode} {r.stderr} {r.stdout}'

    def query(self, *args):
        text = self.run(*args, '--json')
        try:
            return json.loads(text)
        except ValueError:
            raise SystemExit(f'{args}: {text[:2000]}')

    def is_loaded(self):
        return self.status.startswith('Session Status') and 'Selected thread' in self.status


def firefox(name, trace, args=()):
    out = f'{folder}/{name}.firefox'
    run_ok('export', '-f', 'firefox', '-o', out, *args, trace)
    with Session(out) as session:
        tap.case(session.is_loaded(), f'firefox, {name} {args}: profiler-cli loads it', session.status)
        session.run('strategy', 'native-allocations')
        seen = session.query('thread', 'functions', '--limit', 100000)
        found = collections.Counter()
        for f in seen['functions']:
            found[f['name']] += f['selfSamples']
        wanted = collections.Counter()
        for path, v in stacks(report(*args, trace)).items():
            wanted[path[-1]] += v[0]
        tap.case(sum(found.values()) == total(*args, trace)[0] and +found == +wanted, f'firefox, {name} {args}: functions',
                 f'{sorted(set((+found).items()) ^ set((+wanted).items()))[:5]}')
        if args and args[0] == '--filter':
            return  # an empty profile: it only has to load
        counter = next(c for c in session.query('counter', 'list')['counters'] if c['name'] == 'live heap')
        highest = next(s['value'] for s in counter['stats'] if s['source'] == 'count-range')
        tap.case(highest == total('--peak', trace)[0], f'firefox, {name} {args}: the track is as high as the peak', f'{counter} {total(trace)}')
        marks = [m['name'] for m in report('--timeline', trace)['marks']]
        shown = [m['markerName'] for m in session.query('thread', 'markers').get('byType', [])]
        tap.case(set(shown) == set(marks) or name == 'made', f'firefox, {name} {args}: marks', f'{shown} {marks}')


def firefox_by(group, trace):
    """Each group is a function, with everything below it."""
    run_ok('export', '-f', 'firefox', '--allocated', '-g', group, '-o', f'{folder}/grouped.firefox', trace)
    with Session(f'{folder}/grouped.firefox') as session:
        session.run('strategy', 'native-allocations')
        totals = {f['name']: f['totalSamples'] for f in session.query('thread', 'functions', '--limit', 100000)['functions']}
        wanted = {k: v[0] for k, v in grouped(group, ['--allocated'], trace).items() if v[0]}
        tap.case({k: totals.get(k) for k in wanted} == wanted and wanted, f'firefox by {group}', f'{session.status} {totals} {wanted}')


def chrome(name, trace, args=()):
    out = f'{folder}/{name}.chrome'
    run_ok('export', '-f', 'chrome', '-o', out, *args, trace)
    d = json.loads(open(out).read())
    points = [(e['ts'], e['args']['bytes']) for e in d['traceEvents'] if e['ph'] == 'C' and e['name'].startswith('live heap')]
    timeline = report('--timeline', *args, trace)
    tap.case(points[0] == (0, 0) and points[-1][1] == total('--at=@end', *args, trace)[0] and points == sorted(points, key=lambda p: p[0]),
             f'chrome, {name} {args}: from nothing to what is left', points[-3:])
    if not args:
        tap.case(max(p[1] for p in points) == timeline['peak_bytes'], f'chrome, {name}: the peak')
    # every tenth column of chrome is a column of report
    columns = [c for c in timeline['columns']]
    end = timeline['duration_ns']
    at = dict(points)
    wrong = [(i, c['end_live_bytes']) for i, c in enumerate(columns) if at.get((end * (i + 1) * 10 // 2000) / 1000) != c['end_live_bytes']]
    tap.case(not wrong, f'chrome, {name} {args}: the columns of report', wrong[:5])
    marks = [(e['name'], e['cat'], round(e['ts'] * 1000)) for e in d['traceEvents'] if e['ph'] == 'i']
    tap.case(name == 'made' or marks == [(m['name'] or m['kind'], m['kind'], m['time_ns']) for m in timeline['marks']], f'chrome, {name}: marks', marks)


def several_processes():
    """Each process has its tracks. Times are since the start of the first process."""
    trace, rows = record_several(folder)
    first = min(r['start_unix_ns'] for r in rows)
    d, f = (json.loads(export(form, '--all', trace)) for form in ('chrome', 'firefox'))
    threads = {t['pid']: (i, t) for i, t in enumerate(f['threads'])}
    tap.case(set(threads) == {str(r['pid']) for r in rows} and len(f['threads']) == len(rows), 'firefox --all: a track of each process', list(threads))
    for r in rows:
        delay = r['start_unix_ns'] - first
        alone = [dict(e, ts=round(e['ts'] * 1000 + delay)) for e in json.loads(export('chrome', r['trace']))['traceEvents']]
        mine = [dict(e, ts=round(e['ts'] * 1000)) for e in d['traceEvents'] if e['pid'] == r['pid']]
        tap.case(mine == alone and len(mine) > 100, f'chrome --all: {r["label"]} is as alone, but later', f'{delay} {mine[:2]} {alone[:2]}')
        i, thread = threads[str(r['pid'])]
        own = json.loads(export('firefox', r['trace']))
        tap.case(thread['nativeAllocations']['weight'] == own['threads'][0]['nativeAllocations']['weight'] and thread['stringArray'] == own['threads'][0]['stringArray'] and
                 abs(thread['processStartupTime'] - delay / 1e6) < 1e-5, f'firefox --all: {r["label"]} is as alone, but later')
        counters = [(c['name'], c['samples']['count']) for c in f['counters'] if c['pid'] == str(r['pid']) and c['mainThreadIndex'] == i]
        tap.case(counters == [(c['name'], c['samples']['count']) for c in own['counters']] and counters, f'firefox --all: counters of {r["label"]}')
    if npm():
        for form in 'chrome', 'firefox':
            run_ok('export', '-f', form, '--all', '-o', f'{folder}/all.{form}', trace)
            with Session(f'{folder}/all.{form}') as session:
                tap.case(session.is_loaded(), f'{form} --all: profiler-cli loads it', session.status)


def tracks_of_rss():
    text = b'thread 1\nrss 2000000 40960000\nalloc 3000000 0 100 - 0\nrss 5000000 81920000\nextra 6000000 0 0 here\nend 0 0 20000000\n'
    subprocess.run([programs['mktrace'], f'{folder}/rss.hlt'], input=text, check=True)
    d = json.loads(export('chrome', f'{folder}/rss.hlt'))
    tap.case([(e['ts'], e['args']['bytes']) for e in d['traceEvents'] if e['name'] == 'resident set'] == [(2000, 40960000), (5000, 81920000)], 'chrome: RSS')
    f = json.loads(export('firefox', f'{folder}/rss.hlt'))['counters'][1]
    tap.case((f['name'], f['samples']['time'], f['samples']['count']) == ('resident set', [2, 5], [40960000, 40960000]), 'firefox: RSS', f)


with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    for name, trace in traces.items():
        check_csv(name, trace)
        if name != 'made':  # its sizes are larger than node can add exactly
            chrome(name, trace)
            chrome(name, trace, ('--filter', 'size:>=48'))
    tracks_of_rss()
    several_processes()
    if npm():
        for name in ('sample', 'shop', 'threads'):
            firefox(name, traces[name])
        firefox('sample', traces['sample'], ('--leaks',))
        firefox('sample', traces['sample'], ('--filter', 'size:>1T'))
        run_ok('record', '-q', '-o', f'{folder}/roles.hlt', '--', programs['roles'])
        firefox_by('thread', f'{folder}/roles.hlt')
        run_ok('export', '-f', 'chrome', '-o', f'{folder}/c.json', traces['sample'])
        with Session(f'{folder}/c.json') as session:
            marks = {m['markerName'] for m in session.query('thread', 'markers').get('byType', [])}
            tap.case(session.is_loaded() and {'one', 'two'} <= marks, 'chrome: the Firefox Profiler imports it, with marks',
                     f'{session.status} {marks}')
    else:
        tap.skipped('firefox', npm.why)
tap.finish()
