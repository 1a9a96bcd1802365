#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""large_test - export of 10^7 events: correct values, and memory that does not grow with the number of events."""
import json, os, pathlib, pty, re, subprocess, tempfile

from viewers import FORMATS, PPROF, READ, documented_sql, heaplapse, massif_peak, npm, pprof_raw, programs, query_duckdb, report, total
import tap

LIMIT_KIB = 300 << 10


def peak_memory(*args):
    """Runs heaplapse and returns its peak memory in KiB."""
    pid = os.posix_spawn(heaplapse, [heaplapse, *args], os.environ)
    _, status, usage = os.wait4(pid, 0)
    tap.case(status == 0, f'{args[2]}: status', status)
    return usage.ru_maxrss


def on_terminal(*args):
    """The messages that a waiting user sees on a terminal."""
    ours, its = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != 'CI'} | {'TERM': 'xterm'}
    p = subprocess.Popen([heaplapse, *args], stderr=its, env=env)
    os.close(its)
    said = b''
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            part = b''
        if not part:
            break
        said += part
    tap.case(p.wait() == 0, 'on a terminal: status')
    os.close(ours)
    return said


def sums_of_lines(path, pattern):
    found = [0, 0]
    for m in re.finditer(pattern, pathlib.Path(path).read_text(), re.M):
        found[0] += int(m[1])
        found[1] += 1
    return tuple(found)


def parquet(trace, folder, allocated, peak):
    """Compares sums by SQL; and there are enough row groups to keep several threads busy."""
    if not npm():
        return tap.skipped('parquet: sums', npm.why)
    os.rename(f'{folder}/parquet', f'{folder}/app.parquet')
    live = [report('--at', f'{part}%', trace) for part in (5, 30, 50, 80, 100)]
    at = "SELECT sum(bytes) AS bytes, sum(blocks) AS blocks FROM 'app.parquet' WHERE allocated_ns <= {0} AND (freed_ns > {0} OR freed_ns IS NULL)"
    everything, highest, groups, *found = query_duckdb(
        folder, "SELECT sum(bytes) AS bytes, sum(blocks) AS blocks FROM 'app.parquet'", documented_sql()['the peak'],
        "SELECT count(DISTINCT row_group_id) AS n FROM parquet_metadata('app.parquet')", *[at.format(a['to_ns']) for a in live])
    tap.case(tuple(everything[0].values()) == allocated and highest[0]['bytes'] == peak[0], 'parquet: sums and the peak', f'{everything} {highest}')
    tap.case([tuple(f[0].values()) for f in found] == [(a['total_bytes'], a['total_blocks']) for a in live], 'parquet: live at five moments', found)
    tap.case(groups[0]['n'] >= 2, 'parquet: row groups', groups)


with tempfile.TemporaryDirectory() as folder:
    trace = f'{folder}/large.hlt'
    subprocess.run([programs['gen'], '-n', '10000000', '-o', trace], check=True, capture_output=True)
    for form in FORMATS:
        memory = peak_memory('export', '-f', form, '-o', f'{folder}/{form}', trace)
        tap.case(memory < LIMIT_KIB, f'{form}: at most 300 MiB', f'{memory} KiB')
    allocated, peak = total('--allocated', trace), total('--peak', trace)
    tap.case(sums_of_lines(f'{folder}/json', r'"size":(\d+),"address"') == allocated, 'json: sums')
    tap.case(sums_of_lines(f'{folder}/csv', r'^\d+,\d*,\d+,[^,]*,(\d+),0x') == allocated, 'csv: sums')
    tap.case(sums_of_lines(f'{folder}/collapsed', r' (\d+)$')[0] == peak[0], 'collapsed: sums')
    kinds, live, highest, calls = [], 0, 0, 0
    for line in pathlib.Path(f'{folder}/heaptrack').read_text().splitlines():
        if line[0] == 'a':
            kinds.append(int(line.split()[1], 16))
        elif line[0] == '+':
            live += kinds[int(line[2:], 16)]
            calls += 1
            highest = max(highest, live)
        elif line[0] == '-':
            live -= kinds[int(line[2:], 16)]
    tap.case((highest, calls, live) == (peak[0], allocated[1], total('--leaks', trace)[0]), 'heaptrack: peak, calls, left', f'{highest} {calls} {live}')
    d = json.loads(pathlib.Path(f'{folder}/dhat').read_text())
    tap.case(tuple(sum(p[k] for p in d['pps']) for k in ('tb', 'tbk', 'gb', 'gbk')) == allocated + peak, 'dhat: sums')
    # the other formats by their sums
    for form in 'svg', 'html', 'speedscope', 'gprof2dot', 'firefox', 'dot':
        found = READ[form](pathlib.Path(f'{folder}/{form}').read_bytes())
        right = found if form == 'dot' and peak[0] * 0.9 <= found <= peak[0] else peak if isinstance(found, tuple) else peak[0]
        tap.case(found == right, f'{form}: sums', f'{found} {peak}')
    tap.case(massif_peak(pathlib.Path(f'{folder}/massif').read_bytes()) == peak[0], 'massif: the peak')
    counters = [e['args']['bytes'] for e in json.loads(pathlib.Path(f'{folder}/chrome').read_text())['traceEvents'] if e['name'] == 'live heap']
    tap.case((max(counters), counters[-1]) == (peak[0], total('--leaks', trace)[0]), 'chrome: the peak and the end')
    parquet(trace, folder, allocated, peak)
    if PPROF:
        samples = pprof_raw(f'{folder}/pprof', folder)[1]
        tap.case(tuple(sum(s[1][i] for s in samples) for i in (1, 0, 3, 2)) == allocated + peak, 'pprof: sums')
    for args in [], ['--loose']:
        r = json.loads(subprocess.run([programs['replay'], '--json', *args, f'{folder}/replay'], capture_output=True, check=True, timeout=300).stdout)
        tap.case((r['bytes'], r['allocations'], r['recorded_peak_bytes' if args else 'peak_bytes']) == (*allocated, peak[0]) and
                 r['rss_before_kib'] < LIMIT_KIB, f'replay {args}: played', r)
    tap.case(b'writing' in on_terminal('export', '-f', 'json', '-o', f'{folder}/json', trace), 'a terminal sees how far it is')
tap.finish()
