#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""modes_test.py HEAPLAPSE LIBRARY DECODE_PY PHASES ZEROS - modes count and cull, snapshots and log,
end to end.

The counts of phases.c are known; every mode must report them at each snapshot, and refuse queries
that it cannot answer.
"""
import json, os, re, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import case, finish, skipped

HEAPLAPSE, LIBRARY, DECODE, PHASES, ZEROS = (os.path.abspath(a) for a in sys.argv[1:6])
ROUNDS = 2000
# Bytes and blocks by site at each snapshot: allocated, then freed.
RESIZED = [200 + i % 50 for i in range(ROUNDS)]
STAY = {'site_stay': (100 * ROUNDS, ROUNDS, 0, 0)}
CHURNED = {**STAY, 'site_churn': (400 * ROUNDS, 10 * ROUNDS) * 2,
           'site_resize': (sum(RESIZED), ROUNDS, sum(RESIZED[:-1]), ROUNDS - 1)}
SHRUNK = {**CHURNED, 'site_stay': (100 * ROUNDS, ROUNDS, 50 * ROUNDS, ROUNDS // 2)}
TRUTH = {'grown': STAY, 'churned': CHURNED, 'shrunk': SHRUNK}


def run(*args, env=None, **more):
    return subprocess.run([HEAPLAPSE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, **(env or {})}, **more)


def record(name, *options, program=(PHASES, ROUNDS), **more):
    trace = name + '.hlt'
    return trace, run('record', '-q', '-f', '-o', trace, *options, '--', *program, **more)


def log_json(trace, *options):
    done = run('log', '--json', *options, trace)
    return json.loads(done.stdout) if done.returncode == 0 else None


def site(source):
    return next((f['function'] for f in source['stack'] if f['function'].startswith('site_')), None)


def by_site(snapshots):
    """After each labelled snapshot the allocations and frees of each site so far: the sum of all changes."""
    sums, found = {}, {}
    for s in snapshots:
        for source in s['sources']:
            change, at = source['change'], sums.setdefault(site(source), [0] * 4)
            for i, key in enumerate(('allocated_bytes', 'allocated_blocks', 'freed_bytes', 'freed_blocks')):
                at[i] += change[key]
        if s['label']:
            found[s['label']] = {k: tuple(v) for k, v in sums.items() if k}
    return found


def same_in_all_modes():
    for mode in ('trace', 'count', 'cull'):
        trace, done = record(mode, f'--mode={mode}', '--lifetime', '50ms')
        log = log_json(trace)
        found = by_site(log['snapshots']) if log else None
        case(found == TRUTH, f'{mode}: every snapshot by site', f'{done.stderr}{found}')
        last = log['snapshots'][-1]
        case(last['cause'] == 'end', f'{mode}: the last snapshot is the end', last['cause'])
        totals = json.loads(run('info', '--json', trace).stdout)['totals']
        case((last['total']['allocated_bytes'], last['live_blocks']) ==
             (totals['bytes_allocated'], totals['live_blocks_end']), f'{mode}: log and info agree at the end')
        check_reports(mode, trace)
        done = subprocess.run([DECODE, '--snapshots', trace], stdout=subprocess.PIPE, text=True)
        lines = [x.split() for x in done.stdout.splitlines() if not x.endswith('""')]
        wanted = [s for s in log['snapshots'] if s['label']] if mode != 'trace' else []
        case([int(x[5]) for x in lines] == [s['total']['allocated_bytes'] for s in wanted],
             f'{mode}: another reader finds the same snapshots', done.stdout)


def check_reports(mode, trace):
    for option in ('--peak', '--leaks', '--allocated'):
        answer = json.loads(run('report', '--json', '--no-default-suppressions', option, trace).stdout)
        same = json.loads(run('report', '--json', '--no-default-suppressions', option, 'trace.hlt').stdout)
        case(normalize_tree(answer['nodes']) == normalize_tree(same['nodes']), f'{mode}: report {option} is that of mode trace')
    at = json.loads(run('report', '--json', '--at', '@mark:churned', trace).stdout)
    live = (100 + 8) * ROUNDS + RESIZED[-1]
    case(at['total_bytes'] == live and not at.get('moved'), f'{mode}: live at a snapshot', at['total_bytes'])
    course = json.loads(run('report', '--json', '--timeline', trace).stdout)
    peak = json.loads(run('info', '--json', trace).stdout)['totals']['peak_bytes']
    case(max(column['max_live_bytes'] for column in course['columns']) == peak, f'{mode}: the timeline is as high as the peak')


def normalize_tree(nodes):
    """Names and values of a tree, independent of the order of children."""
    return sorted((n['function'], n['bytes'], n['blocks'], normalize_tree(n.get('children', []))) for n in nodes)


def refusals():
    for view in (('--threads',), ('--temporary',), ('--group', 'size', '--allocated'),
                 ('--filter', 'size>10'), ('--fragmentation',)):
        done = run('report', *view, 'count.hlt')
        case(done.returncode == 3 and 'needs every event' in done.stderr and 'record with --mode=trace' in done.stderr,
             f'count: report {" ".join(view)} says what it cannot know', done.stderr + done.stdout)
    for mode in ('count', 'cull'):
        done = run('report', '--json', '--filter', 'fn:site_churn', f'{mode}.hlt')
        case(done.returncode == 3 and 'the peak of blocks that match a filter needs every event' in done.stderr and '--at @peak' in done.stderr,
             f'{mode}: the peak of what fits a filter is not known, and it says what is', done.stderr)
        asked = ('report', '--json', '--at', '@peak', '--filter', 'fn:site_churn')
        case(json.loads(run(*asked, f'{mode}.hlt').stdout)['total_bytes'] == json.loads(run(*asked, 'trace.hlt').stdout)['total_bytes'],
             f'{mode}: what fits at the peak of the heap is that of mode trace')
        done = run('report', '--json', '--no-default-suppressions', '--sites', '--allocated', f'{mode}.hlt')
        truth = run('report', '--json', '--no-default-suppressions', '--sites', '--allocated', 'trace.hlt')
        rows, same = ([(row['name'], row['bytes'], row['blocks']) for row in json.loads(d.stdout)['rows']] for d in (done, truth))
        case(done.returncode == 0 and sorted(rows) == sorted(same) and len(rows) >= 3, f'{mode}: bytes and blocks of sites are those of mode trace', done.stderr)
        case('no lifetimes: this trace was recorded in mode' in done.stderr and 'median_lifetime_ns' not in done.stdout,
             f'{mode}: sites without lifetimes, and it says so', done.stderr)
        done = run('report', '--sites', '--allocated', f'{mode}.hlt')
        case('site_churn' in done.stdout and 'lifetime' not in done.stdout, f'{mode}: sites as text', done.stdout)
    done = run('report', '--leaks', '--group', 'thread', 'cull.hlt')
    case(done.returncode == 0, 'cull: what lives at the end is known one by one', done.stderr)
    done = run('dump', 'count.hlt')
    case('recorded only as sums' in done.stderr, 'dump says that events are missing', done.stderr)
    done = run('report', '--timeline', 'count.hlt')
    case(done.returncode == 0, 'a timeline comes from keyframes', done.stderr)


def text_form():
    done = run('log', 'count.hlt')
    head = re.compile(r'^\[ *\d+\]={57}\nchurn=\d+/1048576,', re.M)
    source = re.compile(r'^\{[0-9a-f]{16}\} live:\d+, alloc:\d+/\d+, free:\d+/\d+\n  \{0\} site_', re.M)
    case(head.search(done.stdout) and source.search(done.stdout), "the form is that of pmem's log", done.stdout[:400])
    for args in (('count.hlt',), ('count.hlt', '--compare', '0', '1'), ('--follow', 'count.hlt')):
        legend = [line for line in run('log', *args).stdout.splitlines() if line.startswith('#')]
        case(legend and run('log', *args).stdout.startswith('#') and all(word in ' '.join(legend) for word in
             ('bytes', 'churn=', '{source}', 'live:', 'alloc:', 'free:')) and len(legend) < 8,
             f'log {args}: a legend once, with units', legend)
    case('#' not in run('log', '--json', 'count.hlt').stdout, 'log --json: no legend')
    for first, since in ('1', 'since snapshot 1'), ('0', 'since the start'):
        legend = [line for line in run('log', '--compare', 'count.hlt', first, '3').stdout.splitlines() if line.startswith('#')]
        case('since the snapshot before' not in ' '.join(legend) and f'freed {since};' in legend[1] and f'free:A/B {since} /' in legend[3],
             f'log --compare from {first}: the legend says since when', legend)
    sampled, _ = record('sampled', '--mode=sample=1K')
    for trace, estimated in (sampled, True), ('count.hlt', False):
        case(('# All numbers are estimates' in run('log', trace).stdout) == estimated == log_json(trace)['estimated'],
             f'log {trace}: says whether its numbers are estimates')
    first = {}
    for sort in ('live', 'growth', 'churn'):
        log = log_json('count.hlt', '--sort', sort)
        first[sort] = [site(s['sources'][0]) for s in log['snapshots'] if s['label'] == 'churned'][0]
    case(first['churn'] == 'site_churn' and first['growth'] == 'site_resize', 'sources are sorted as asked', first)
    ids = [{x['source'] for s in log_json(t)['snapshots'] for x in s['sources'] if site(x)} for t in ('count.hlt', 'cull.hlt')]
    case(ids[0] == ids[1], 'a source has the same name in every run')
    case('more source' in run('log', '-n', '1', 'count.hlt').stdout, '--limit says what it leaves out')


def compare():
    log = log_json('count.hlt')['snapshots']
    number = {s['label']: s['snapshot'] for s in log if s['label']}
    done = run('log', '--json', 'count.hlt', '--compare', number['grown'], number['shrunk'])
    change = json.loads(done.stdout)['snapshots'][0]
    sums = {site(s): (s['change']['allocated_bytes'], s['change']['freed_bytes']) for s in change['sources'] if site(s)}
    case(sums == {'site_stay': (0, 50 * ROUNDS), 'site_churn': (400 * ROUNDS,) * 2,
                  'site_resize': (sum(RESIZED), sum(RESIZED[:-1]))}, 'two snapshots compared', sums)
    back = run('log', '--json', 'count.hlt', '--compare', '0', len(log))
    case(json.loads(back.stdout)['snapshots'][0]['total'] == log[-1]['total'], 'from the start to the end')


def bad_input():
    for args in (('log', '--sort', 'size', 'count.hlt'), ('log', '-n', 'x', 'count.hlt'), ('log', '--compare', 'count.hlt'),
                 ('log', '--compare', 'count.hlt', '1', '999'), ('log', '--compare', 'count.hlt', '2', '1'), ('log', '--compare', 'count.hlt', '1', '-1'),
                 ('log', 'count.hlt', 'cull.hlt')):
        done = run(*args)
        case(done.returncode == 2 and done.stderr.startswith('heaplapse log'), ' '.join(args), done.stderr)
    for option, value in (('--mode', 'some'), ('--lifetime', 'long'), ('--lifetime', '0'), ('--lifetime', '30h'),
                          ('--pending', '3'), ('--pending', '1e6'), ('--churn', '0'), ('--churn', '-1'), ('--churn', '9999999999G'),
                          ('--every', '1ms'), ('--every', 'x'), ('--churn-gap', 'x'), ('--churn-gap', '-1'), ('--churn-gap', '25h'), ('--at-live', ''), ('--at-rss', '5T')):
        done = run('record', f'{option}={value}', PHASES)
        case(done.returncode == 125 and option in done.stderr, f'record {option}={value}', done.stderr)
    done = run('log', '/dev/null')
    case(done.returncode == 3 and 'not a regular file' in done.stderr, 'no trace', done.stderr)


def options_of_other_modes():
    """An option that the mode would ignore is refused; one that `ctl mode=` may activate is not."""
    for mode in ('trace', 'cull', 'count', 'sample'):
        for option in ('--tags=owner', '--stats-json=x.json', '--stats-dot=x.dot', '--snapshot-interval=1', '--snapshot-prefix=x'):
            done = run('record', f'--mode={mode}', option, PHASES)
            case(done.returncode == 125 and done.stderr.startswith(f'heaplapse record: {option.split("=")[0]} applies only to mode tags, and this is mode {mode}:')
                 and not done.stdout, f'mode {mode} refuses {option}', done.stderr)
    for option in ('--lifetime=1', '--pending=100', '--churn=1M', '--churn-gap=1s', '--churn-log=x.log', '--every=1', '--at-live=1M', '--at-rss=1M',
                   '--free-stacks', '--mmap', '--embed-binaries', '--exit-wait=1'):
        done = run('record', option, '--mode=tags', PHASES)
        case(done.returncode == 125 and done.stderr.startswith(f'heaplapse record: {option.split("=")[0]} needs events'),
             f'mode tags refuses {option}', done.stderr)
        trace, done = record('fits', option, '--mode=trace')
        case(done.returncode == 0 and not done.stderr, f'mode trace takes {option}', done.stderr)
    case('use --snapshot-interval' in run('record', '--mode=tags', '--every=1', PHASES).stderr, 'the refusal names what there is instead')
    done = run('record', '--every=1', PHASES, env={'HEAPLAPSE_MODE': 'tags'})
    case(done.returncode == 125, 'the mode may be the environment\'s', done.stderr)
    trace, done = record('fits', env={'HEAPLAPSE_STATS_JSON': 'x.json', 'HEAPLAPSE_TAGS': 'owner'})
    case(done.returncode == 0 and not done.stderr, 'a variable may be meant for another program', done.stderr)


def damage():
    with open('count.hlt', 'rb') as f:
        data = f.read()
    bad = []
    for end in [len(data) - 1, *range(80, len(data), max(97, len(data) // 40))]:
        with open('cut.hlt', 'wb') as f:
            f.write(data[:end])
        for args in (('log', 'cut.hlt'), ('report', 'cut.hlt'), ('info', 'cut.hlt'), ('report', '--at', '1ms', 'cut.hlt')):
            done = run(*args)
            if done.returncode not in (0, 3) or not done.stderr and end < len(data) - 32 and args[0] != 'info':
                bad.append((end, args, done.returncode, done.stderr))
    case(not bad, 'a trace that is cut anywhere is shown up to there, or refused', bad[:3])
    whole = log_json('count.hlt')['snapshots']
    bad = []
    for at in range(64, len(data), max(61, len(data) // 60)):
        with open('flip.hlt', 'wb') as f:
            f.write(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:])
        done = run('log', '--json', 'flip.hlt')
        shown = json.loads(done.stdout)['snapshots'] if done.returncode == 0 else []
        if done.returncode not in (0, 3) or any(not [w for w in whole if w['total'] == s['total'] and s['cause'] in ('end', w['cause'])]
                                                for s in shown if not s['moved']):
            bad.append((at, done.returncode, done.stderr))
    case(not bad, 'no damage makes a wrong snapshot', bad[:3])


def full_disk():
    os.mkdir('small')
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8k', 'tmpfs', 'small'],
                                          stderr=subprocess.DEVNULL).returncode:
        skipped('a full disk', 'no tmpfs can be mounted')
        return
    try:
        for mode in ('count', 'cull'):
            trace, done = record(f'small/{mode}', f'--mode={mode}', '--churn', '10K', '--lifetime', '1ms',
                                 program=(PHASES, 200000))
            case(done.returncode == 0 and 'No space left' in done.stderr, f'{mode}: a full disk is told, the program goes on', done.stderr)
            done = run('log', trace)
            case(done.returncode in (0, 3) and done.stderr, f'{mode}: what was written before is there', done.stderr)
            os.unlink(trace)
    finally:
        subprocess.run(['umount', 'small'])


def temporary():
    """A block that the very next event frees is temporary, also if it is written before that event."""
    trace, _ = record('whole')
    truth = json.loads(run('info', '--json', trace).stdout)['totals']
    case(truth['temporary'] >= 10 * ROUNDS, 'mode trace knows the temporary blocks', truth)
    for lifetime in ('1us', '2us', '10us', '1ms'):
        trace, done = record('brief', '--mode=cull', '--lifetime', lifetime)
        totals = json.loads(run('info', '--json', trace).stdout)['totals']
        same = ('temporary', 'allocations', 'bytes_allocated', 'peak_bytes', 'live_bytes_end')
        case(all(totals[key] == truth[key] for key in same), f'cull --lifetime {lifetime}: temporary as in mode trace', f'{done.stderr}{totals}')


def early_blocks():
    """cull with too little memory for withheld blocks: the file is correct, and a message says which
    option makes it smaller."""
    options = ('-f', '-o', 'early.hlt', '--mode=cull', '--lifetime=1h')
    done = run('record', *options, '--pending=16', '--', PHASES, ROUNDS)
    blocks = json.loads(run('info', '--json', 'early.hlt').stdout)['totals']['early_blocks']
    text = f'{blocks:,} block{" was" if blocks == 1 else "s were"} written early'
    case(done.returncode == 0 and blocks > 0 and done.stderr.count(text) == 1 and 'a larger --pending' in done.stderr, 'cull: what is written early is told', done.stderr)
    case(text in run('info', 'early.hlt').stdout, 'cull: info knows what was written early')
    case('early.hlt' not in run('record', '-q', *options, '--pending=16', '--', PHASES, ROUNDS).stderr, 'cull: -q does not tell')
    done = run('record', *options, '--pending=1000000', '--', PHASES, ROUNDS)
    blocks = json.loads(run('info', '--json', 'early.hlt').stdout)['totals']['early_blocks']
    case(blocks == 0 and '--pending' not in done.stderr + run('info', 'early.hlt').stdout, 'cull: nothing is early with enough room', f'{blocks} {done.stderr}')


def killed():
    for mode in ('count', 'cull'):
        trace, done = record(f'killed-{mode}', f'--mode={mode}', program=(PHASES, ROUNDS, 'kill'))
        log = log_json(trace)
        info = json.loads(run('info', '--json', trace).stdout)
        case(by_site(log['snapshots']) == TRUTH and info['complete'] and info['end']['value'] == signal.SIGKILL,
             f'{mode}: a program that is killed has all its numbers', done.stderr + str(info))


def thresholds():
    trace, _ = record('live', '--mode=count', '--churn', '100G', '--at-live', '100000')
    causes = [s['cause'] for s in log_json(trace)['snapshots']]
    case(causes.count('live') == 1, '--at-live: one snapshot when it is reached', causes)
    at = [s for s in log_json(trace)['snapshots'] if s['cause'] == 'live'][0]
    case(100000 <= at['live_bytes'] < 100000 + 200, '--at-live: at the very event', at['live_bytes'])
    trace, _ = record('every', '--mode=count', '--churn', '100G', '--every', '0.5', '--at-rss', '4096',
                      program=(PHASES, ROUNDS, 'wait'))
    causes = [s['cause'] for s in log_json(trace)['snapshots']]
    case(causes.count('time') >= 3, '--every: while the program sleeps, too', causes)
    case(causes.count('rss') == 1, '--at-rss: when it is reached', causes)
    trace, _ = record('clock', '--mode=count', '--every', '1h')
    log = log_json(trace)['snapshots']
    case('churn' not in [s['cause'] for s in log] and [s['churn_threshold'] for s in log] == [0] * len(log),
         '--every alone: no snapshots by the default of --churn', log)
    trace, _ = record('both', '--mode=count', '--every', '1h', '--churn', '50000')
    case('churn' in [s['cause'] for s in log_json(trace)['snapshots']], '--every and --churn: both', log)
    trace, _ = record('churn', '--mode=count', '--churn', '50000')
    first = log_json(trace)['snapshots'][0]
    case(50000 <= first['churn_bytes'] < 50000 + 200, '--churn: at the very event', first['churn_bytes'])
    trace, _ = record('each', '--mode=count', '--churn', '10000', '--churn-gap', '0')
    churn = [s['churn_bytes'] for s in log_json(trace)['snapshots'] if s['cause'] == 'churn']
    case(len(churn) > 100 and churn[0] == 8 * ROUNDS and all(10000 <= n < 10000 + 500 for n in churn[1:]), '--churn-gap 0: none is passed over', churn)
    trace, _ = record('far', '--mode=count', '--churn', '10000', '--churn-gap', '1h')
    causes = [s['cause'] for s in log_json(trace)['snapshots']]
    case(causes.count('churn') == 1, '--churn-gap 1h: one in a short run', causes)
    trace, _ = record('traced', '--churn', '50000')
    log = log_json(trace)['snapshots']
    case(by_site(log) == TRUTH and 'churn' in [s['cause'] for s in log], 'mode trace takes --churn, too')


def listed_snapshots():
    """report --snapshots lists the snapshots of log with the same values, except for the end."""
    for mode in ('trace', 'count', 'cull'):
        trace, _ = record('listed', f'--mode={mode}', '--churn', '50000')
        log = log_json(trace)['snapshots']
        shown = json.loads(run('report', '--json', '--snapshots', trace).stdout)['snapshots']
        wanted = [(s['snapshot'], s['cause'], s['label'], s['live_bytes'], s['live_blocks']) for s in log[:-1]]
        found = [(s['snapshot'], s['cause'], s['name'], s['total_bytes'], s['total_blocks']) for s in shown]
        case(found == wanted and 'churn' in [s[1] for s in found], f'{mode}: report --snapshots lists those by churn', f'{found} {wanted}')
        text = run('report', '--snapshots', trace).stdout
        number = next(s['snapshot'] for s in log if s['cause'] == 'churn')
        case(f'snapshot {number} (churn): live' in text and 'grown: live' in text, f'{mode}: and says why', text[:300])


def churn_log():
    trace, done = record('logged', '--mode=count', '--churn', '50000', '--churn-log', 'churn.%e.log',
                         program=(PHASES, ROUNDS, 'wait'))
    with open('churn.phases.log') as f:
        text = f.read()
    wanted = run('log', trace).stdout
    case(text == wanted and text.count(']====') > 3, '--churn-log has what log prints, when record returns', text[:300])
    case(os.stat('churn.phases.log').st_mode & 0o777 == 0o600, '--churn-log: for the owner only')
    done = run('record', '--churn-log', '/nowhere/at/all', PHASES)
    case(done.returncode == 125 and '--churn-log' in done.stderr, '--churn-log that cannot be written', done.stderr)
    for name in ('link.log', 'link.phases.log'):
        os.symlink('victim.log', name)
    done = run('record', '--churn-log', 'link.log', PHASES)
    case(done.returncode == 125 and 'link.log' in done.stderr and 'symbolic link' in done.stderr and not done.stdout,
         '--churn-log that is a link is refused before the program runs', done.stderr)
    done = run('record', '-q', '-o', 'linked.%p.hlt', '--churn-log', 'link.%e.log', '/bin/sh', '-c', f'{PHASES} >/dev/null; true')
    case(done.returncode == 0 and 'cannot write link.%e.log for process' in done.stderr and 'symbolic link' in done.stderr,
         '--churn-log that is a link for a child is said', done.stderr)
    case(not os.path.exists('victim.log'), 'no link is followed')
    done = run('log', '--follow', '--json', trace)
    case(done.returncode == 2, 'log --follow --json', done.stderr)
    program = subprocess.Popen([HEAPLAPSE, 'record', '-q', '--mode=count', '-o', 'grows.hlt', PHASES, str(ROUNDS), 'wait'])
    for _ in range(200):
        if os.path.exists('grows.hlt') and 'shrunk' in run('log', 'grows.hlt').stdout:
            break
        time.sleep(0.02)
    still = program.poll() is None
    done = run('log', '--follow', 'grows.hlt')
    case(program.wait() == 0 and done.stdout == run('log', 'grows.hlt').stdout,
         f'log --follow goes to the end (still running: {still})', done.stderr)


def zero_memory():
    for options, wanted in (((), 'dirty'), (('--zero-memory',), 'zeros')):
        trace, done = record('zeros', *options, program=(ZEROS,), env={'MALLOC_PERTURB_': '85'})
        info = json.loads(run('info', '--json', trace).stdout)
        case(done.stdout == wanted + '\n' and info['zero_memory'] == bool(options), f'memory is {wanted} {options}', done.stdout)


def bare():
    env = {**os.environ, 'LD_PRELOAD': LIBRARY, 'HEAPLAPSE_MODE': 'count', 'HEAPLAPSE_OUTPUT': 'bare.hlt', 'HEAPLAPSE_CHURN': '50000'}
    subprocess.run([PHASES, str(ROUNDS)], env=env)
    for _ in range(100):
        done = run('info', '--json', 'bare.hlt')
        if done.returncode == 0 and json.loads(done.stdout)['end']['kind'] == 'exit':
            break
        time.sleep(0.1)
    case(by_site(log_json('bare.hlt')['snapshots']) == TRUTH, 'under a bare LD_PRELOAD', done.stderr)


with tempfile.TemporaryDirectory(prefix='heaplapse-modes-') as folder:
    os.chdir(folder)
    same_in_all_modes()
    refusals()
    text_form()
    compare()
    bad_input()
    options_of_other_modes()
    damage()
    full_disk()
    temporary()
    early_blocks()
    killed()
    thresholds()
    listed_snapshots()
    churn_log()
    zero_memory()
    bare()
    os.chdir('/')
finish()
