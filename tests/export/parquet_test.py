#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""parquet_test - export -f parquet: DuckDB and hyparquet read it, and the results of SQL queries
equal those of report."""
import json, os, pathlib, resource, signal, subprocess, tempfile

from viewers import HERE, documented_sql, export, make_traces, node, npm, programs, query_duckdb, report, run, run_ok, stacks, total
import tap

LIVE = "SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(blocks), 0) AS blocks FROM 'app.parquet' WHERE allocated_ns <= {0} AND (freed_ns > {0} OR freed_ns IS NULL)"
COLUMNS = ('id', 'stack', 'thread', 'call', 'size', 'address', 'allocated_ns', 'freed_ns', 'freed_by', 'freed_before', 'blocks', 'bytes', 'thread_name', 'tag',
           'pool', 'function', 'file', 'line', 'module', 'freed_stack', 'chain_length', 'chain_position', 'chain_first_size',
           'chain_last_size', 'chain_lifetime_ns')
# csv has no order among events of the same time
CSV_TYPES = "{'id': 'BIGINT', 'stack': 'INTEGER', 'thread': 'INTEGER', 'call': 'VARCHAR', 'size': 'BIGINT', 'address': 'VARCHAR', " \
    "'allocated_ns': 'BIGINT', 'freed_ns': 'BIGINT', 'freed_by': 'INTEGER', 'blocks': 'BIGINT', 'bytes': 'BIGINT', 'thread_name': 'VARCHAR', " \
    "'tag': 'VARCHAR', 'pool': 'VARCHAR', 'function': 'VARCHAR', 'file': 'VARCHAR', 'line': 'INTEGER', 'module': 'VARCHAR', " \
    "'freed_stack': 'INTEGER', 'chain_length': 'INTEGER', 'chain_position': 'INTEGER', 'chain_first_size': 'BIGINT', 'chain_last_size': 'BIGINT', " \
    "'chain_lifetime_ns': 'BIGINT'}"
AS_CSV = "SELECT * EXCLUDE (freed_before) REPLACE (printf('0x%x', address) AS address) FROM 'app.parquet'"


# Ordered by id and freed_before, time never decreases, and no block is freed before its allocation.
BACKWARDS = """WITH events AS (
    SELECT id * 2 + 1 AS n, allocated_ns AS ns, blocks AS change FROM 'app.parquet' UNION ALL
    SELECT freed_before * 2, freed_ns, -blocks FROM 'app.parquet' WHERE freed_ns IS NOT NULL)
SELECT count(*) FILTER (WHERE ns < before) AS n, least(min(live), 0) AS least FROM (
    SELECT ns, lag(ns) OVER (ORDER BY n, ns) AS before, sum(change) OVER (ORDER BY n, ns ROWS UNBOUNDED PRECEDING) AS live FROM events)"""


def export_to(folder, *args):
    os.makedirs(folder, exist_ok=True)
    run_ok('export', '-f', 'parquet', '-o', f'{folder}/app.parquet', *args)


def moments(trace):
    """Five times of the run, with the live bytes and blocks at each."""
    answers = [report('--at', f'{part}%', trace) for part in (5, 30, 50, 80, 100)]
    return {a['to_ns']: (a['total_bytes'], a['total_blocks']) for a in answers}


def numbers(name, trace, folder):
    """SQL results equal those of report: at five moments, at the peak, and in total."""
    export_to(folder, trace)
    sql, live, peak = documented_sql(), moments(trace), report('--peak', trace)
    found = query_duckdb(folder, *[LIVE.format(t) for t in live], sql['the peak'], "SELECT sum(bytes) AS bytes, sum(blocks) AS blocks, count(*) AS n FROM 'app.parquet'")
    for (t, wanted), rows in zip(live.items(), found):
        tap.case(rows == [dict(zip(('bytes', 'blocks'), wanted))], f'{name}: live at {t}', f'{rows} {wanted}')
    tap.case(found[-2] == [{'bytes': peak['total_bytes'], 'ns': peak['to_ns']}], f'{name}: the peak', f'{found[-2]} {peak["total_bytes"]} {peak["to_ns"]}')
    wanted, n = dict(zip(('bytes', 'blocks'), total('--allocated', trace))), found[-1][0].pop('n')
    tap.case(found[-1] == [wanted], f'{name}: all', f'{found[-1]} {wanted}')
    order, = query_duckdb(folder, BACKWARDS)
    tap.case(order == [{'n': 0, 'least': 0}], f'{name}: the order is that of the times', order)
    other = node('hyparquet.js', f'{folder}/app.parquet', *live)
    tap.case([int(v) for v in other.get('live', ())] == [v[0] for v in live.values()] and int(other['peak']) == peak['total_bytes'] and
             (other['rows'], int(other['said'])) == (n, n) and tuple(other['columns']) == COLUMNS,
             f'{name}: hyparquet finds the same', other)


def rows_are_csv(name, trace, folder, *args):
    """Compares row by row with csv, which other tests check."""
    export_to(folder, *args, trace)
    pathlib.Path(f'{folder}/app.csv').write_bytes(export('csv', *args, trace))
    csv = f"SELECT * FROM read_csv('app.csv', columns = {CSV_TYPES}, header = true, auto_detect = false)"
    ours, theirs = query_duckdb(folder, *[f'SELECT count(*) AS n, sum(hash(t)) AS sum FROM ({rows}) AS t' for rows in (AS_CSV, csv)])
    same = ours == theirs and ours[0]['n'] > 0
    why = '' if same else query_duckdb(folder, f'({AS_CSV}) EXCEPT ALL ({csv}) LIMIT 2', f'({csv}) EXCEPT ALL ({AS_CSV}) LIMIT 2')
    tap.case(same, f'{name}: each row is csv\'s {" ".join(args)}', f'{ours} {theirs} {why}')


def each_stack(name, trace, folder):
    path = documented_sql()['whole stacks, for a flame graph']
    found, lone, lost = query_duckdb(folder, path, "SELECT count(*) AS n FROM 'app.parquet' WHERE stack NOT IN (SELECT stack FROM 'app.stacks.parquet')",
                               "SELECT count(*) AS n FROM 'app.stacks.parquet' WHERE frame NOT IN (SELECT frame FROM 'app.frames.parquet')")
    wanted = {}
    for names, (size, _) in stacks(report('--allocated', trace)).items():
        if names != ('[no stack]',):  # the innermost frame is malloc itself
            wanted[';'.join(names[:-1])] = wanted.get(';'.join(names[:-1]), 0) + size
    found = {r['path']: r['bytes'] for r in found}
    tap.case(found == wanted, f'{name}: each stack by its names', f'{list(set(found.items()) ^ set(wanted.items()))[:4]}')
    tap.case(lone == lost == [{'n': 0}], f'{name}: no stack and no frame is missing', f'{lone} {lost}')


def document(trace, folder):
    """All SQL shown in the document is run, and its results are known."""
    sql = documented_sql()
    rows = dict(zip(sql, query_duckdb(folder, *sql.values())))
    at = report('--at', '1ms', trace)
    notes = {r['key']: r['value'] for r in rows.pop('what was recorded')}
    tap.case(notes['heaplapse.schema'] == 1 and notes['heaplapse.complete'] == 'true' and notes['heaplapse.program'].endswith('sample') and
             notes['heaplapse.quantity'] == 'allocated' and notes['heaplapse.duration_ns'] == report('--leaks', trace)['to_ns'], 'document: what was recorded', notes)
    found = rows.pop('live at a moment')
    tap.case(found == [{'bytes': at['total_bytes'] or None, 'blocks': at['total_blocks'] or None}], 'document: live at a moment', f'{found} {at}')
    tap.case(rows.pop('the peak')[0]['bytes'] == total('--peak', trace)[0], 'document: the peak')
    found = sorted((r['bytes'], r['blocks']) for r in rows.pop('leaks by site'))
    wanted = sorted((r['bytes'], r['blocks']) for r in report('--leaks', '--group', 'site', '--no-default-suppressions', trace)['rows'])
    tap.case(found == wanted and found, 'document: leaks by site', f'{found} {wanted}')
    wanted = {}
    for names, (size, blocks) in stacks(report('--allocated', trace)).items():
        for function in set(names[:-1]):
            old = wanted.get(function, (0, 0))
            wanted[function] = old[0] + size, old[1] + blocks
    found = {r['function']: (r['bytes'], r['blocks']) for r in rows.pop('allocated by function, callers included')}
    tap.case(found == wanted, 'document: by function', f'{found} {wanted}')
    tap.case(len(rows.pop('whole stacks, for a flame graph')) > 2, 'document: whole stacks')
    crossed = [r for r in json.loads(export('json', trace))['allocations'] if r['freed_by'] not in (None, r['thread'])]
    tap.case(sum(r['blocks'] for r in rows.pop('freed by another thread than the one that allocated')) == len(crossed), 'document: freed elsewhere')
    tap.case(not rows, 'document: no SQL that nobody looks at', list(rows))


def kinds(folder):
    """Samples count with their weight; scopes, thread names and pools have columns."""
    made = {'sampled': ('--mode=sample=1K', '--', programs['phases'], 2000), 'tagged': ('--', programs['tagged'], 'truth', 3, 300),
            'named': ('--', programs['named']), 'pooled': ('--', programs['pooled'])}
    for name, args in made.items():
        trace = f'{folder}/{name}.hlt'
        run('record', '-q', '-o', trace, *args)
        numbers(name, trace, f'{folder}/{name}')
        rows_are_csv(name, trace, f'{folder}/{name}')
    weighted, = query_duckdb(f'{folder}/sampled', "SELECT count(*) AS n FROM 'app.parquet' WHERE bytes > size AND blocks > 1")
    notes, = query_duckdb(f'{folder}/sampled', documented_sql()['what was recorded'])
    tap.case({'key': 'heaplapse.samples', 'value': json.loads(export('json', f'{folder}/sampled.hlt'))['samples']} in notes and weighted[0]['n'] > 0,
             'sampled: it is said', f'{weighted} {notes}')
    for column, name in {'tag': 'tagged', 'thread_name': 'named'}.items():
        found, = query_duckdb(f'{folder}/{name}', f"SELECT count(DISTINCT {column}) AS n FROM 'app.parquet'")
        tap.case(found[0]['n'] > 2, f'{name}: there are some', found)
    trace = f'{folder}/pooled.hlt'
    rows_are_csv('pooled', trace, f'{folder}/pooled', '--pool', '*')
    found, = query_duckdb(f'{folder}/pooled', "SELECT pool, sum(bytes) AS bytes FROM 'app.parquet' GROUP BY pool ORDER BY pool")
    wanted = sorted((r['name'], r['bytes']) for r in report('-g', 'pool', '--pool', '*', '--allocated', trace)['rows'])
    tap.case([(r['pool'], r['bytes']) for r in found] == wanted and len(wanted) > 1, 'pooled: by pool', f'{found} {wanted}')
    order, = query_duckdb(f'{folder}/pooled', BACKWARDS)
    tap.case(order == [{'n': 0, 'least': 0}], 'pooled: the order is that of the times', order)


def row_groups(folder):
    """There are several row groups, and the statistics of their columns are correct."""
    trace = f'{folder}/groups.hlt'
    subprocess.run([programs['gen'], '-n', '2500000', '--nodes', '2000', '-o', trace], check=True, capture_output=True)
    export_to(folder, trace)
    said, schema = query_duckdb(folder, "SELECT row_group_id AS g, row_group_num_rows AS rows, path_in_schema AS c, stats_min_value AS lo, stats_max_value AS hi, "
                          "stats_null_count AS nulls, compression AS packed FROM parquet_metadata('app.parquet')",
                          "SELECT count(DISTINCT compression) AS n, min(compression) AS c FROM parquet_metadata('app.parquet')")
    groups = {r['g']: r['rows'] for r in said}
    tap.case(len(groups) == 2 and groups[0] == 1 << 20 and sum(groups.values()) == total('--allocated', trace)[1], 'row groups', groups)
    tap.case(schema == [{'n': 1, 'c': 'ZSTD'}], 'all is packed by zstd', schema)
    questions = [f"SELECT min({c}) AS lo, max({c}) AS hi, count(*) - count({c}) AS nulls FROM read_parquet('app.parquet', file_row_number = true) "
                 f'WHERE file_row_number // {1 << 20} = {g}' for g in groups for c in COLUMNS]
    found = iter(query_duckdb(folder, *questions))
    for g in groups:
        for c in COLUMNS:
            real, bounds = next(found)[0], next(r for r in said if (r['g'], r['c']) == (g, c))
            tap.case(all(real[k] == bounds[k] for k in real), f'row group {g}: bounds of {c}', f'{real} {bounds}')
    live = moments(trace)
    other = node('hyparquet.js', f'{folder}/app.parquet', *live)
    tap.case(other.get('groups') == 2 and [int(v) for v in other['live']] == [v[0] for v in live.values()], 'row groups: hyparquet', other)


def tables(trace, folder):
    """Each table alone, and on stdout."""
    out = f'{folder}/tables'
    export_to(out, trace)
    for table, name in {'allocations': 'app', 'stacks': 'app.stacks', 'frames': 'app.frames'}.items():
        whole = pathlib.Path(f'{out}/{name}.parquet').read_bytes()
        alone = run_ok('export', '-f', 'parquet', '--table', table, trace)
        run_ok('export', '-f', 'parquet', '--table', table, '-o', f'{out}/alone.parquet', trace)
        tap.case(alone == whole == pathlib.Path(f'{out}/alone.parquet').read_bytes(), f'--table {table} is the file of its own')
    tap.case(export('parquet', trace) == pathlib.Path(f'{out}/app.parquet').read_bytes(), 'stdout has the allocations')
    tap.case(sorted(os.listdir(out)) == ['alone.parquet', 'app.frames.parquet', 'app.parquet', 'app.stacks.parquet'], 'nothing else is left', os.listdir(out))
    run_ok('export', '-f', 'parquet', '-o', f'{out}/plain', trace)
    tap.case({'plain', 'plain.stacks.parquet', 'plain.frames.parquet'} < set(os.listdir(out)), 'a name without .parquet', os.listdir(out))
    for args, words in ((['-f', 'csv', '--table', 'stacks'], 'csv has no table stacks'), (['-f', 'parquet', '--table', 'rows'], 'allocations, stacks or frames'),
                        (['-f', 'parquet', '-g', 'site'], 'parquet cannot be grouped by site')):
        r = run('export', *args, '-o', f'{out}/refused', trace)
        tap.case(r.returncode == 2 and words in r.stderr.decode() and not os.path.exists(f'{out}/refused'), f'refused: {" ".join(args)}', r.stderr)
    os.link(trace, f'{out}/x.stacks.parquet')
    r = run('export', '-f', 'parquet', '-o', f'{out}/x.parquet', trace)
    tap.case(r.returncode == 2 and b'is the trace itself' in r.stderr and pathlib.Path(f'{out}/x.stacks.parquet').read_bytes() == pathlib.Path(trace).read_bytes(),
             'no table takes the place of the trace', r.stderr)
    os.mkdir(f'{out}/y.frames.parquet')
    r = run('export', '-f', 'parquet', '-o', f'{out}/y.parquet', trace)
    tap.case(r.returncode == 3 and b'y.frames.parquet cannot be written: Is a directory' in r.stderr and not os.path.exists(f'{out}/y.parquet') and
             not os.path.exists(f'{out}/y.stacks.parquet'), 'one that cannot be written: none is there', r.stderr)


def full_disk(trace, folder):
    """Everything fits except the end of the allocations. That table is the last to be renamed to
    its final name, so none of the three gets its name."""
    room = f'{folder}/room'
    export_to(room, trace)
    names = sorted(os.listdir(room))
    sizes = {n: os.path.getsize(f'{room}/{n}') for n in names}
    most = max(sizes.values())
    tap.case(sizes['app.parquet'] == most > sorted(sizes.values())[1], 'a full disk: the allocations are the largest', sizes)
    os.unlink(f'{room}/app.frames.parquet')
    for name in names[1:]:
        pathlib.Path(f'{room}/{name}').write_text('old')

    def no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most - 1, most - 1))
    r = run('export', '-f', 'parquet', '-o', f'{room}/app.parquet', trace, preexec_fn=no_room)
    tap.case(r.returncode == 3 and b'app.parquet cannot be written: File too large' in r.stderr, 'a full disk: it is said', f'{r.returncode} {r.stderr}')
    tap.case(sorted(os.listdir(room)) == names[1:] and all(pathlib.Path(f'{room}/{n}').read_text() == 'old' for n in names[1:]),
             'a full disk: the old files are left, and nothing else', os.listdir(room))


def empty_results(trace, folder):
    subprocess.run([programs['mktrace'], f'{folder}/none.hlt'], input=b'thread 1\nend 0 0 640\n', check=True)
    for name, args in {'no row fits': ['--filter', 'size:>1T', trace], 'an empty trace': [f'{folder}/none.hlt']}.items():
        export_to(f'{folder}/nothing', *args)
        found = query_duckdb(f'{folder}/nothing', *[f"SELECT count(*) AS n FROM '{t}.parquet'" for t in ('app', 'app.stacks', 'app.frames')], "SELECT * FROM 'app.parquet'",
                             "SELECT count(*) AS n FROM (DESCRIBE SELECT * FROM 'app.parquet')")
        tap.case(found == [[{'n': 0}]] * 3 + [[], [{'n': len(COLUMNS)}]], f'{name}: valid and empty', found)
        other = node('hyparquet.js', f'{folder}/nothing/app.parquet', 5)
        tap.case(other.get('rows') == 0 and other['live'] == ['0'] and tuple(other['columns']) == COLUMNS, f'{name}: hyparquet', other)


def truncated(folder):
    trace, cut = f'{folder}/long.hlt', f'{folder}/cut.hlt'
    subprocess.run([programs['gen'], '-n', '400000', '--nodes', '300', '-o', trace], check=True, capture_output=True)
    whole = pathlib.Path(trace).read_bytes()
    pathlib.Path(cut).write_bytes(whole[:len(whole) * 2 // 3])
    r = run('export', '-f', 'parquet', '-o', f'{folder}/app.parquet', cut)
    tap.case(r.returncode == 0 and b'the end of the recording is missing' in r.stderr, 'truncated: it is said', r.stderr)
    rows, notes = query_duckdb(folder, "SELECT sum(size) AS bytes, count(*) AS blocks FROM 'app.parquet'", documented_sql()['what was recorded'])
    tap.case((rows[0]['bytes'], rows[0]['blocks']) == total('--allocated', cut) and 0 < rows[0]['blocks'] < total('--allocated', trace)[1],
             'truncated: what is there', rows)
    tap.case({'key': 'heaplapse.complete', 'value': 'false'} in notes, 'truncated: the file says so', notes)


def hostile(folder):
    """Names that are not UTF-8, and impossible sizes."""
    description = b'module /bin/%ff%c3%28%0a%22 -\nthread 1\nnode - 0 10\nalloc 64 0 18446744073709551615 0 0 ffffffffffffff00\nalloc 128 0 7 - 0\nend 0 0 640\n'
    subprocess.run([programs['mktrace'], f'{folder}/odd.hlt'], input=description, check=True)
    export_to(f'{folder}/odd', f'{folder}/odd.hlt')
    found, = query_duckdb(f'{folder}/odd', "SELECT size, printf('0x%x', address) AS a, module, stack, function, freed_ns FROM 'app.parquet' ORDER BY id")
    tap.case(found[0]['module'] == '/bin/\ufffd\ufffd(\n"' and found[0]['size'] == (1 << 63) - 1 and found[0]['a'] == '0xffffffffffffff00' and
             (found[1]['stack'], found[1]['function'], found[1]['freed_ns']) == (None, '[no stack]', None), 'odd names and numbers', found)


def long_names(folder):
    """Long names end a row group early: the size of a dictionary is bounded."""
    n = 3000
    lines = ['thread 1'] + [f'module /{i:04}{"x" * 3500} -' for i in range(n)] + [f'node - {i} 10' for i in range(n)] + \
        [f'alloc {64 * i} 0 {i + 1} {i} 0' for i in range(n)] + [f'end 0 0 {64 * n}']
    subprocess.run([programs['mktrace'], f'{folder}/names.hlt'], input='\n'.join(lines).encode() + b'\n', check=True)
    export_to(f'{folder}/names', f'{folder}/names.hlt')
    groups, rows, frames, bound = query_duckdb(
        f'{folder}/names', "SELECT count(DISTINCT row_group_id) AS n FROM parquet_metadata('app.parquet')",
        "SELECT count(*) AS n, sum(bytes) AS bytes, count(DISTINCT module) AS modules, sum((module[2:5]::INT = stack)::INT) AS right FROM 'app.parquet'",
        "SELECT count(DISTINCT module) AS n FROM 'app.frames.parquet'",
        "SELECT count(stats_max_value) AS n FROM parquet_metadata('app.parquet') WHERE path_in_schema = 'module'")
    tap.case(groups[0]['n'] == 2 and rows == [{'n': n, 'bytes': n * (n + 1) // 2, 'modules': n, 'right': n}] and frames == [{'n': n}] and bound == [{'n': 0}],
             'many long names', f'{groups} {rows} {frames} {bound}')


with tempfile.TemporaryDirectory() as folder:
    if not npm():
        tap.skipped('parquet', npm.why)
        tap.finish()
    traces = make_traces(folder)
    for name, trace in traces.items():
        numbers(name, trace, f'{folder}/{name}')
        each_stack(name, trace, f'{folder}/{name}')
        if name == 'sample':
            document(trace, f'{folder}/{name}')
        rows_are_csv(name, trace, f'{folder}/{name}')
    for args in (['--leaks'], ['--range', '30%..60%'], ['--filter', 'size:>=64'], ['--temporary=1ms'], ['--at', '50%']):
        rows_are_csv('made', traces['made'], f'{folder}/asked', *args)
    kinds(folder)
    row_groups(folder)
    tables(traces['sample'], folder)
    full_disk(traces['made'], folder)
    empty_results(traces['sample'], folder)
    truncated(folder)
    hostile(folder)
    long_names(folder)
tap.finish()
