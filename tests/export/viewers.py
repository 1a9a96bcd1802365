# SPDX-License-Identifier: Apache-2.0
"""viewers - shared code of the tests of export: traces of real programs, the output of `report` on
them, the sums in each format, and the readers from npm."""
import collections, csv, glob, io, json, os, pathlib, re, shutil, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import npm_packages  # noqa: E402
import tap  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PPROF = next(iter(glob.glob('/usr/lib/go-*/pkg/tool/linux_*/pprof')), shutil.which('pprof'))
ARGUMENTS = {'threads': ['6', '300', '1'], 'single': ['5000', '1', '10']}


def arguments():
    """The path of heaplapse, the directory of npm's packages, and the other arguments NAME=PATH."""
    given = dict(a.split('=', 1) for a in sys.argv[1:])
    return os.path.abspath(given.pop('heaplapse')), given.pop('npm'), {k: os.path.abspath(v) for k, v in given.items()}


heaplapse, npm_folder, programs = arguments()


def run(*args, **more):
    env = dict(os.environ, LC_ALL='C.UTF-8')
    return subprocess.run([heaplapse, *map(str, args)], capture_output=True, env=env, timeout=300, **more)


def run_ok(*args):
    r = run(*args)
    if r.returncode:
        raise SystemExit(f'{args}: {r.returncode} {r.stderr.decode()}')
    return r.stdout


def report(*args):
    return json.loads(run_ok('report', '--json', *args))


def total(*args):
    answer = report(*args)
    return answer['total_bytes'], answer['total_blocks']


def export(form, *args):
    return run_ok('export', '--format', form, *args)


def record_sqlite3(folder):
    """Records a third-party program with many stacks, some of which differ only in an address."""
    run_ok('record', '-q', '-o', f'{folder}/sqlite3.hlt', '--', shutil.which('sqlite3'), ':memory:',
           'create table t(a, b); with recursive s(i) as (select 1 union all select i + 1 from s where i < 3000) '
           'insert into t select i, hex(i) from s; create index x on t(b); select count(*) from t')
    return f'{folder}/sqlite3.hlt'


def make_traces(folder, events=20000):
    """Traces of C, C++, threads and a generated one, and of Rust where there is a compiler for it."""
    made = {}
    for name in ('sample', 'shop', 'threads', 'single'):
        if name in programs:
            made[name] = f'{folder}/{name}.hlt'
            run_ok('record', '-o', made[name], '--', programs[name], *ARGUMENTS.get(name, []))
    rust = shutil.which('rustc')
    if rust:
        subprocess.run([rust, '-g', '-O', '-o', f'{folder}/shop-rs', str(HERE / 'shop.rs')], check=True, capture_output=True)
        made['rust'] = f'{folder}/rust.hlt'
        run_ok('record', '-o', made['rust'], '--', f'{folder}/shop-rs')
    made['made'] = f'{folder}/made.hlt'
    subprocess.run([programs['gen'], '-n', str(events), '--nodes', '300', '--strange', '-o', made['made']], check=True)
    return made


def record_several(folder):
    """Records a run of several processes. Returns its trace, and a row of info for each process, with its name in exports."""
    trace = f'{folder}/several.hlt'
    run_ok('record', '-q', '-o', trace, '--', 'sh', '-c', f'"{programs["sample"]}"; "{programs["single"]}" 5000 1 10; "{programs["sample"]}"; exit 0')
    rows = json.loads(run_ok('info', '--all', '--json', trace))['processes']
    for row in rows:
        row['label'] = f'{os.path.basename(row["program"])} (pid {row["pid"]})'
    assert len(rows) == 4, rows
    return trace, rows


def stacks(answer):
    """The stacks of report's tree: {(function, ...), outermost first: self values}."""
    paths, found = [], {}
    for n in answer['nodes']:
        paths.append((paths[n['parent']] if n['parent'] is not None else ()) + (n,))
        if n['self_blocks']:
            key = tuple(f['function'] for f in paths[-1])
            old = found.get(key, (0, 0))
            found[key] = old[0] + n['self_bytes'], old[1] + n['self_blocks']
    return found


def grouped(group, args, trace):
    """The rows of report --group: {the frame of a row: (bytes, blocks)}."""
    found = {}
    for r in report(*args, '-g', group, trace)['rows']:
        name = r['name'] if r['name'].startswith(group + ' ') else f'{group}: {r["name"]}'
        old = found.get(name, (0, 0))
        found[name] = old[0] + r['bytes'], old[1] + r['blocks']
    return found


def npm():
    """The directory with node_modules, or None with the reason in npm.why."""
    npm.why = npm_packages.install(npm_folder, HERE)
    return None if npm.why else pathlib.Path(npm_folder)


def node(script, *args, said=None):
    """Runs a script of this directory with the packages and `said` as its input; returns its JSON output."""
    folder = npm()
    env = dict(os.environ, NODE_PATH=str(folder / 'node_modules'))
    r = subprocess.run([npm_packages.node_program(folder), str(HERE / script), *map(str, args)], input=said, capture_output=True, text=True, env=env,
                       timeout=300)
    if r.returncode:
        return {'error': r.stderr[-2000:] or r.stdout[-2000:]}
    return json.loads(r.stdout)


def query_duckdb(folder, *questions):
    """Runs SQL queries on the files of a directory with DuckDB: for each query its rows, with
    numbers as numbers, or the error."""
    answers = node('duckdb.js', folder, said=json.dumps(questions))
    if isinstance(answers, dict):
        return [answers['error']] * len(questions)
    return [a.get('error') or [{k: int(v) if isinstance(v, str) and re.fullmatch(r'-?\d+', v) else v for k, v in row.items()} for row in a['rows']]
            for a in answers]


def documented_sql():
    """The SQL in docs/export-parquet.md, by the comment that it begins with."""
    text = (HERE.parent.parent / 'docs' / 'export-parquet.md').read_text()
    return {m[1]: m[2] for m in re.finditer(r'```sql\n-- (.*)\n([^`]*)```', text)}


def pprof(folder, *args):
    """The output of Go's own pprof."""
    env = dict(os.environ, HOME=folder, PPROF_TMPDIR=folder)
    r = subprocess.run([PPROF, '-symbolize=none', *args], capture_output=True, text=True, env=env)
    return r.stdout if r.returncode == 0 else f'{r.returncode} {r.stderr}'


def pprof_raw(path, folder):
    """Types; samples as [stack of functions, outermost first; four numbers; labels]; mappings."""
    text = pprof(folder, '-raw', path)
    parts = re.split(r'^(Samples|Locations|Mappings):?\n', text, flags=re.M)
    part = dict(zip(parts[1::2], parts[2::2]))
    locations, at = collections.defaultdict(list), None
    for line in part['Locations'].splitlines():
        m = re.match(r'\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)$', line)
        if m:
            at, rest = int(m[1]), m[4]
            locations[at]
        else:
            rest = line.strip()
        m = re.match(r'(.*?) (\S*):(\d+)(?::\d+)? s=\d+', rest) or re.match(r'(.+?) (\S*):(\d+)', rest)
        if m:
            locations[at].append(m[1])
    samples = []
    types = part['Samples'].splitlines()[0].split()
    for line in part['Samples'].splitlines()[1:]:
        m = re.match(r'\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+): (.*)$', line)
        if m:
            ids = list(map(int, m[5].split()))
            path = tuple(f for i in reversed(ids) for f in reversed(locations[i] or ['?']))
            samples.append([path, tuple(int(m[i]) for i in range(1, 5)), {}])
        elif samples:
            samples[-1][2].update(re.findall(r'(\w+):\[(.*?)\](?= \w+:\[|$)', line.strip()))
    return types, samples, part['Mappings']


FORMATS = [line.split()[0] for line in run_ok('export', '--list').decode().splitlines()]


def lines_of(text):
    return list(csv.DictReader(io.StringIO(text.decode())))


def massif_peak(text):
    snapshots = re.findall(r'mem_heap_B=(\d+)\n(?:.*\n){2}heap_tree=(\w+)', text.decode())
    return next(int(n) for n, tree in snapshots if tree == 'peak')


def collapsed(text):
    return sum(int(line.rpartition(' ')[2]) for line in text.decode().splitlines())


def svg(text):
    return int(re.search(rb'data-total="(\d+)"', text)[1])


def speedscope(text):
    return tuple(sum(p['weights']) for p in json.loads(text)['profiles'])


def gprof2dot(text):
    return sum(e['cost'][0] for e in json.loads(text)['events'])


def dot(text):
    """The sum of all boxes; boxes that are too small are not drawn."""
    return sum(int(n) for n in re.findall(r'self=(\d+)', text.decode()))


def firefox(text):
    d = json.loads(text)
    return sum(d['threads'][0]['nativeAllocations']['weight'])


def html(text):
    """The sum over the question that the page opens with: the values in its tree and those that it
    says it omits."""
    d = json.loads(re.search(rb'id="data">(.*?)</script>', text, re.S)[1])
    q = d['questions'][d['first']]
    sums = []
    for k, column in ('bytes', 2), ('blocks', 3):
        path, own = [], []
        for depth, n in zip(q['down']['depth'], q['down'][k]):
            path[depth - 1:] = [len(own)]
            own.append(n)
            if depth > 1:
                own[path[depth - 2]] -= n
        left = sum(o[column] for o in q['down']['other'])
        inside = sum(o[column] for o in q['down']['other'] if o[0] >= 0)
        sums.append(sum(own) - inside + left)
    return tuple(sums)


# The sum over a file of each format: a number for formats that have bytes only, a pair for those
# that also have blocks.
READ = {'collapsed': collapsed, 'svg': svg, 'html': html, 'speedscope': speedscope, 'gprof2dot': gprof2dot, 'dot': dot, 'firefox': firefox,
        'json': lambda t: tuple(sum(a[k] for d in [json.loads(t)] for a in d['allocations'] + d.get('sums', [])) for k in ('bytes', 'blocks')),
        'csv': lambda t: tuple(sum(int(r[k]) for r in lines_of(t)) for k in ('bytes', 'blocks'))}
