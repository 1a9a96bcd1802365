#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""totals_test - one number everywhere: peak, leaked, suppressed, allocated, temporary, growth and the
live blocks of a moment are equal in the text and the JSON of report, on the page, in a pprof profile,
in the JSON export and in the summary that record prints, for ten kinds of traces."""
import gzip, html, json, os, re, subprocess, tempfile

from viewers import programs, run
import tap

MOMENTS = (['--peak'], ['--leaks'], ['--leaks', '--no-default-suppressions'], ['--at', '@end'], ['--at', '50%'])
RANGES = (['--allocated'], ['--temporary'], ['--temporary=1us'], ['--growth', '20%..70%'])
# Quantities that a trace lacks; all outputs refuse them.
REFUSED = {*((mode, q) for mode in ('count', 'cull') for q in ('--temporary', '--temporary=1us', '--growth')), ('sampled', '--temporary')}
HEADING = re.compile(r': ([\d,]+) B in ([\d,]+) blocks?(?:[,;] .*)?$')
SUPPRESSED = re.compile(r'^  ([\d,]+) B in ([\d,]+) blocks?: (.*)$')


def number(text):
    return int(text.replace(',', ''))


def text_answer(*args):
    """Total and suppressed values of the text, or None if it is refused."""
    r = run('report', '--bytes', '--limit', '1', *args)
    if r.returncode:
        return None
    lines = r.stdout.decode().splitlines()
    found = HEADING.search(lines[0])
    suppressed = {m[3]: (number(m[1]), number(m[2])) for m in map(SUPPRESSED.match, lines) if m}
    return ((number(found[1]), number(found[2])), suppressed) if found else lines[0]


def json_answer(*args):
    r = run('report', '--json', *args)
    if r.returncode:
        return None
    d = json.loads(r.stdout)
    suppressed = {s['pattern']: (s['bytes'], s['blocks']) for s in d.get('suppressed', [])}
    if (d.get('suppressed_bytes', 0), d.get('suppressed_blocks', 0)) != tuple(map(sum, zip((0, 0), *suppressed.values()))):
        return 'the sum of what is suppressed', d
    return (d['total_bytes'], d['total_blocks']), suppressed


def fields(data):
    """(number, value) of the fields of a message of protobuf."""
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def varints(data):
    found, v, shift = [], 0, 0
    for b in data:
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            found.append(v)
            v = shift = 0
    return found


def pprof_answer(*args):
    """The sum of the default value over all samples, and what its comments say."""
    r = run('export', '-q', '-f', 'pprof', *args)
    if r.returncode:
        return None
    strings, sums, comments, chosen = [], [0] * 4, [], None
    for field, value in fields(gzip.decompress(r.stdout)):
        if field == 2:
            for kind, v in enumerate(varints(dict(fields(value))[2])):
                sums[kind] += v
        elif field == 6:
            strings.append(value.decode())
        elif field == 13:
            comments.append(value)
        elif field == 14:
            chosen = value
    first = 2 if strings[chosen] == 'inuse_space' else 0
    said = [re.match(r'suppressed: (\d+) bytes in (\d+) blocks?: (.*)', strings[c]) for c in comments]
    return (sums[first + 1], sums[first]), {m[3]: (int(m[1]), int(m[2])) for m in said if m}


def export_answer(*args):
    r = run('export', '-q', '-f', 'json', *args)
    if r.returncode:
        return None
    d = json.loads(r.stdout)
    return (d['total_bytes'], d['total_blocks']), {s['pattern']: (s['bytes'], s['blocks']) for s in d['suppressed']}


def page_answers(*args):
    """The values of the queries of a page by id, its figures with their details, and its notes."""
    text = run('export', '-q', '-f', 'html', *args).stdout.decode()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    answers = {q['id']: None if 'unknown' in q else (q['bytes'], q['blocks']) for q in data['questions']}
    figures = {m[1]: (int(m[2]), html.unescape(m[3]), html.unescape(m[4])) for m in
               re.finditer(r'id="figure-([\w-]+)">.*?<data value="(\d+)">(.*?)</data><small>(.*?)</small>', text)}
    return answers, figures


def check_queries(name, trace, *filters):
    for args in (*MOMENTS, *RANGES):
        asked = [*args, *filters, trace]
        wanted = json_answer(*asked)
        found = {'text': text_answer(*asked), 'pprof': pprof_answer(*asked)}
        if args in (['--leaks'], ['--allocated']):
            found['export'] = export_answer(*asked)
        known = wanted or (name, args[0]) in REFUSED
        tap.case(known and all(f == wanted for f in found.values()), f'{name}: {" ".join(args)}', f'{wanted} {found}')


def total(*args):
    answer = json_answer(*args)
    return answer and answer[0]


def check_page(name, trace, *filters):
    """The page has four queries, and figures of all blocks."""
    answers, figures = page_answers(*filters, trace)
    wanted = {q: total('--' + q, *filters, trace) for q in ('peak', 'leaks', 'allocated', 'temporary')}
    tap.case(answers == wanted, f'{name}: page', f'{answers} {wanted}')
    answers, _ = page_answers('--leaks', '--no-default-suppressions', *filters, trace)
    tap.case(answers['leaks'] == total('--leaks', '--no-default-suppressions', *filters, trace), f'{name}: page without suppressions')
    leaks, kept = json_answer('--leaks', trace)
    found = figures['leaks'][0], f'in {leaks[1]:,} block' in figures['leaks'][2], 'suppressed' in figures['leaks'][2]
    tap.case(found == (leaks[0], True, bool(kept)), f'{name}: figure of leaks', f'{figures} {leaks} {kept}')
    check_short_lived(name, trace, figures)
    check_overview(name, trace, *filters)


def check_short_lived(name, trace, figures):
    said = run('info', trace).stdout.decode()
    info = json.loads(run('info', '--json', trace).stdout)['short_lived']
    if not info:
        tap.case('short-lived                    not known' in said and figures['short-lived'][1] == '–', f'{name}: short-lived is not known', said)
        return
    share = f'{100 * info["blocks"] / info["allocations"]:.1f}%'
    tap.case(re.search(f'^short-lived +{share}  lived less than ', said, re.M) and figures['short-lived'][:2] == (info['blocks'], share),
             f'{name}: short-lived', f'{info} {figures} {said}')
    below = total(f'--temporary={info["below_ns"]}ns', trace)
    if below:  # refused if blocks are aggregated
        tap.case(below[1] == info['blocks'], f'{name}: short-lived is --temporary=TIME', f'{info} {below}')


def check_overview(name, trace, *filters):
    """The overview as JSON has the totals of the other views, and of info."""
    found = json.loads(run('report', '--overview', '--json', *filters, trace).stdout)
    for key, args in (('peak', ['--peak']), ('end', ['--leaks']), ('allocated', ['--allocated'])):
        wanted = total(*args, *filters, trace)
        shown = found[f'{key}_bytes'] is not None and (found[f'{key}_bytes'], found[f'{key}_blocks'])
        tap.case(shown == wanted or not wanted and not shown, f'{name}: {key} of the overview', f'{found} {wanted}')
    if filters:
        return
    info = json.loads(run('info', '--json', trace).stdout)['short_lived']
    shown = found['short_lived'] == 'known' and (found['short_lived_below_ns'], found['short_lived_blocks'])
    tap.case(shown == (info and (info['below_ns'], info['blocks'])) or not shown and not info, f'{name}: short-lived of the overview', f'{found} {info}')


def check_summary(name, trace, said):
    """The summary has rounded bytes, as the text of report without --bytes."""
    rows = {m[1]: (m[2], m[3]) for m in re.finditer(r'^  (\S+(?: \S+)*?)  +(\S+(?: \S+)?)  (.*)$', said, re.M)}
    for row, args in (('peak', ['--peak']), ('not freed', ['--leaks'])):
        heading = run('report', *args, '--limit', '1', trace).stdout.decode().splitlines()[0]
        value, detail = rows.get(row, ('', ''))
        blocks = re.match('in [0-9,]+ blocks?', detail)
        tap.case(blocks and heading.endswith(f': {value} {blocks[0]}'), f'{name}: {row} of the summary', f'{heading} {rows}')
    kept = sum(v[0] for v in json_answer('--leaks', trace)[1].values())
    tap.case(('plus' in rows['not freed'][1]) == bool(kept), f'{name}: the summary says what is suppressed', f'{rows} {kept}')
    share = re.search(r'^short-lived +(\S+)  (.*)$', run('info', trace).stdout.decode(), re.M)
    tap.case(rows['allocations'][1].endswith(f'; {share[1]} {share[2].replace("lived", "live")}'), f'{name}: short-lived of the summary', f'{rows} {share}')


def record(name, program, *options, arguments=()):
    trace = f'{folder}/{name}.hlt'
    r = run('record', '--summary', '-o', trace, *options, '--', program, *arguments)
    if r.returncode:
        raise SystemExit(f'{name}: {r.returncode} {r.stderr.decode()}')
    return trace, r.stderr.decode()


def main():
    full = [('C', programs['sample'], ()), ('threads', programs['threads'], ('4', '100', '1'))]
    if 'shop' in programs:
        full.append(('C++', programs['shop'], ()))
    some_suppressed = False
    for name, program, arguments in full:
        trace, said = record(name, program, arguments=arguments)
        check_queries(name, trace)
        check_page(name, trace)
        check_summary(name, trace, said)
        some_suppressed |= bool(json_answer('--leaks', trace)[1])
    tap.case(some_suppressed, 'a trace has suppressed blocks')
    check_queries('filter', trace, '--filter', 'size:>=64')
    check_page('filter', trace, '--filter', 'size:>=64')

    cut = f'{folder}/cut.hlt'
    subprocess.run([programs['gen'], '-n', '20000', '--nodes', '50', '-o', cut], check=True)
    os.truncate(cut, os.path.getsize(cut) * 2 // 3)
    check_queries('cut', cut)
    check_page('cut', cut)

    for name, options in ('count', ['--mode=count']), ('cull', ['--mode=cull']), ('sampled', ['--mode=sample=1K']):
        trace, _ = record(name, full[-1][1], *options, arguments=full[-1][2])
        check_queries(name, trace)
        check_page(name, trace)

    other = f'{folder}/C.heaptrack.zst'
    run('export', '-f', 'heaptrack', '-o', other, f'{folder}/C.hlt')
    r = run('import', '-o', f'{folder}/imported.hlt', other)
    tap.case(r.returncode == 0, 'import', r.stderr)
    check_queries('imported', f'{folder}/imported.hlt')
    check_page('imported', f'{folder}/imported.hlt')


with tempfile.TemporaryDirectory() as folder:
    os.environ.pop('HEAPLAPSE_CACHE', None)  # each trace is read some dozen times
    os.environ['XDG_CACHE_HOME'] = folder
    main()
tap.finish()
