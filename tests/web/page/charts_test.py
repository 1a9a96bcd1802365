#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""charts_test - the views of histograms, threads and tags, and the address space: their numbers are those of `report`,
and a click narrows the filter to the row."""
import subprocess
import sys

import browser
import tap
import web
from browser import heaplapse, programs, report

# Three threads: one frees what two others allocated. Sizes with empty classes between them. Three samples of the mappings.
STEPS = '''module /opt/app/bin/app -
node - 0 1000
node 0 0 1010
node 1 0 2010
thread 100
thread 200
thread 300
alloc 64000 0 1048576 1 0 10000
alloc 128000 0 24 1 0 200000
alloc 192000 0 100 1 0 200100
alloc 256000 1 5000 2 0 200400
free 320000 1 1 11
free 400000000 2 3 11
alloc 1500032000 1 2097152 2 0 400000
alloc 2100032000 1 65536 2 0 900000
free 2500032000 0 0 11
free 2600000000 0 4 11
end 0 0 3000000000
'''
SAMPLES = '''map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 16 rw-p 0,0,0,24,24,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,200,200,12 -
maps 640000000 5000
map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 64 rw-p 0,0,0,240,240,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,300,300,12 -
map 7f0000100000 30 r--s 100,4,0,0,0,0 /tmp/<img%20src=x>
maps 1280000000 6000
map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 64 rw-p 0,0,0,240,240,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,8,8,400 -
maps 2500000000 7000
'''
AMOUNTS = ('allocated', 'freed', 'freed_own', 'freed_by_others', 'not_freed')


def make(path, text):
    subprocess.run([programs['mktrace'], path], input=text.encode(), check=True)
    return path


def table(b, where):
    """The exact numbers of the rows of a table."""
    return b.look(f'[...document.querySelectorAll("{where} tbody tr")].map(r => [...r.querySelectorAll("td")]'
                  '.map(d => d.dataset.value ?? d.dataset.bytes ?? d.dataset.blocks ?? d.dataset.pages)'
                  '.filter(v => v !== undefined).map(Number))')


def classes(answer):
    return [[r['bytes'], r['blocks']] for r in answer['rows']]


def histograms(b, server, number, trace):
    for state, options in ('', ['--peak']), ('q=allocated', ['--allocated']), ('q=leaked', ['--leaks']), ('t=1s', ['--at', '1s']):
        for group in 'size', 'life':
            if number == 2 and state == 't=1s':
                continue  # it is shorter
            b.open(server, f'r={number}&v=histograms&hg={group}&{state}')
            answer = report(trace, *options, '-g', group)
            wanted = classes(answer)
            tap.case(table(b, '#classes-table') == wanted and wanted, f'{number}, {state}, {group}: the table', table(b, '#classes-table'))
            for i, unit in enumerate(('bytes', 'blocks')):
                tap.case(b.values(f'[data-bars={unit}] a') == [row[i] for row in wanted], f'{number}, {state}, {group}: bars of {unit}', '')


def bars(b, server, trace):
    b.open(server, 'r=1&v=histograms&q=allocated')
    rows = report(trace, '--allocated', '-g', 'size')['rows']
    tap.case(b.look('document.querySelectorAll("[data-bars=bytes] .gap").length') == 12, 'classes without blocks have a place', rows)
    for i, row in enumerate(rows):
        b.open(server, 'r=1&v=histograms&q=allocated')
        b.click(f'[data-bars=bytes] a:nth-of-type({i + 1})')
        tap.case(b.state()['f'] == f'size:{row["from_bytes"]}..{row["below_bytes"] - 1}' and table(b, '#classes-table') == classes({'rows': [row]}),
                 f'a bar selects its own blocks: {row["name"]}', (b.state(), table(b, '#classes-table')))
    for i, row in enumerate(report(trace, '--allocated', '-g', 'life')['rows']):
        b.open(server, 'r=1&v=histograms&q=allocated&hg=life')
        b.click(f'#classes-table tbody tr:nth-of-type({i + 1}) a')
        tap.case(table(b, '#classes-table') == classes({'rows': [row]}), f'a row selects its own blocks: {row["name"]}', b.state())
    b.open(server, 'r=1&v=histograms')
    before = table(b, '#classes-table')
    b.click('[data-bars=blocks] a:nth-of-type(1)')
    tap.case(table(b, '#classes-table') == before[:1] and b.state()['t'] == '@peak', 'the moment stays when a filter is added', b.state())
    b.click('#classes [data-value=life]')
    tap.case(b.state()['hg'] == 'life', 'the other histogram is one click away', b.state())


def threads(b, server, number, trace):
    answer = report(trace, '--threads')
    for unit in 'bytes', 'blocks':
        b.open(server, f'r={number}&v=threads&u={unit}')
        wanted = [[t[f'{a}_{unit}'] for a in AMOUNTS] for t in answer['threads']]
        tap.case(table(b, '#threads') == wanted, f'{number}: threads in {unit}', (table(b, '#threads'), wanted))


def matrix(b, server, trace):
    answer = report(trace, '--threads')
    b.open(server, 'r=1&v=threads')
    pairs = {(p['allocated_by'], p['freed_by']): p['bytes'] for p in answer['freed_by_another']}
    own = {t['thread']: t['freed_own_bytes'] for t in answer['threads']}
    wanted = [[own[i] if i == k else pairs.get((i, k), 0) for k in range(3)] for i in range(3)]
    tap.case(table(b, '#matrix') == wanted and len(pairs) == 3, 'the matrix of frees across threads', (table(b, '#matrix'), wanted))
    b.click('#matrix tbody tr:nth-of-type(1) td:nth-of-type(2) a')
    narrow = report(trace, '--threads', '--filter', b.state()['f'])
    tap.case(b.state()['f'] == 'thread:0 freed-thread:1' and narrow['threads'][0]['allocated_bytes'] == 24 == table(b, '#threads')[0][0],
             'a cell selects its blocks', (b.state(), narrow))
    b.open(server, 'r=1&v=threads')
    b.click('#threads tbody tr:nth-of-type(2) a')
    tap.case(b.state()['f'] == 'thread:1', 'a thread selects its blocks', b.state())
    b.open(server, 'r=1&v=threads')
    tap.case(b.look('document.querySelector("#quantity button").disabled') is True, 'what the view does not follow is disabled', '')
    b.click('#thread-part [data-value=tags]')
    tap.case(b.look('document.querySelector("#quantity button").disabled') is False, 'tags follow the quantity', '')


def tags(b, server, trace):
    for state, options in ('', ['--peak']), ('q=allocated', ['--allocated']):
        b.open(server, f'r=3&v=threads&tt=tags&{state}')
        wanted = classes(report(trace, *options, '-g', 'tag'))
        tap.case(table(b, '#tags') == wanted and len(wanted) > 1, f'tags, {state}', (table(b, '#tags'), wanted))
    series = report(trace, '--timeline', '-g', 'tag', '-n', '10')
    shown = b.look('[...document.querySelectorAll("#legend [data-row=row] [data-max]")].map(d => +d.dataset.max)')
    tap.case(shown == [r['max_live_bytes'] for r in series['rows']] and shown, 'the chart of tags', shown)
    name = report(trace, '--allocated', '-g', 'tag')['rows'][0]['name']
    b.click('#tags tbody tr:nth-of-type(1) a')
    tap.case(table(b, '#tags') == classes({'rows': [r for r in report(trace, '--allocated', '-g', 'tag')['rows'] if r['name'] == name]}),
             'a tag selects its blocks', (b.state(), table(b, '#tags')))
    b.open(server, 'r=1&v=threads&tt=tags')
    tap.case('HEAPLAPSE_SCOPE' in b.texts('#view .empty')[0], 'without tags the page says how to tag', b.texts('#view'))


def resident(b, server, trace):
    for state, options in ('', []), ('t=1s', ['--at', '1s']), ('t=@end', ['--at', '@end']):
        b.open(server, f'r=1&v=memory&mp=resident&{state}')
        answer = report(trace, '--resident', *options)
        shown = dict(b.look('[...document.querySelectorAll("#amounts dd")].map(d => [d.dataset.amount, +d.dataset.value])'))
        tap.case(shown == {k: answer['total'][k] for k in shown} and len(shown) == 6, f'resident, {state}: the totals', (shown, answer['total']))
        keys = ('size', 'resident', 'anonymous', 'dirty', 'clean', 'swap', 'peak_resident')
        for where, rows in ('#groups', answer['groups']), ('#mappings', answer['mappings']):
            tap.case(table(b, where) == [[r[k] for k in keys] for r in rows], f'resident, {state}: {where}', table(b, where))
    b.open(server, 'r=1&v=memory&mp=resident')
    b.picture('resident')
    b.click('#groups tbody tr:nth-of-type(2) a')
    name = b.state()['map']
    answer = report(trace, '--resident', '--mapping', name)
    tap.case(b.values('[data-amount=resident]') == [answer['total']['resident']], 'a row opens its own history', (b.state(), answer['total']))
    b.click('#all-mappings')
    tap.case('map' not in b.state(), 'and back', b.state())
    b.click('#view summary')
    b.click('#mappings tbody tr:nth-of-type(2) a')
    answer = report(trace, '--resident', '--mapping', b.state()['map'])
    tap.case(b.state()['map'].startswith('0x') and b.values('[data-amount=size]') == [answer['total']['size']], 'an address opens its history', b.state())
    b.open(server, 'r=2&v=memory&mp=resident')
    tap.case('record --mmap' in b.texts('.failure')[0], 'without samples the page says how to record them', b.texts('.failure'))


def memory(b, server, trace, own):
    b.open(server, 'r=1&v=memory&mp=fragmentation')
    answer = report(trace, '--fragmentation')
    keys = ('pages', 'sparse_pages', 'sparse_bytes', 'largest_gap_bytes', 'mapped_bytes_at_least')
    tap.case(b.values('#pages dd')[:5] == [answer[k] for k in keys], 'fragmentation', b.values('#pages dd'))
    b.open(server, 'r=2&v=memory&mp=fragmentation')
    answer = report(own['big'], '--fragmentation')
    tap.case(table(b, '#holders') == [[h['pages'], h['bytes']] for h in answer['holders']] and answer['holders'], 'holders of pages', table(b, '#holders'))
    b.open(server, 'r=4&v=memory&mp=mmaps')
    answer = report(own['mmap'], '--mmaps')
    tap.case(table(b, '#mmaps') == [[m['size'], m['left_bytes']] for m in answer['mmaps']] and answer['mmaps'], 'own mappings', table(b, '#mmaps'))
    b.open(server, 'r=1&v=memory&mp=mmaps')
    tap.case('record --mmap' in b.texts('.failure')[0], 'without mappings the page says how to record them', b.texts('.failure'))
    b.open(server, 'r=1&v=memory')
    b.click('#memory-part [data-value=resident]')
    b.click('#memory-part [data-value=blocks]')
    tap.case(b.look('document.querySelectorAll("#ranges").length') == 1, 'parts can be changed to and fro', '')


STATES = ('r=2&v=histograms&q=allocated', 'r=1&v=histograms&hg=life&q=allocated', 'r=1&v=threads', 'r=2&v=threads', 'r=3&v=threads&tt=tags',
          'r=1&v=threads&tt=tags', 'r=1&v=memory&mp=resident', 'r=1&v=memory&mp=resident&map=%5Bheap%5D', 'r=4&v=memory&mp=mmaps',
          'r=2&v=memory&mp=fragmentation')


def sizes(b, server):
    for width in 400, 800, 1280, 3840:
        b.do('size', width=width, height=900)
        for i, state in enumerate(STATES):
            b.open(server, state)
            over = b.look('document.documentElement.scrollWidth - innerWidth')
            tap.case(over <= 0, f'{state} at {width} px: nothing is wider than the page', over)
            b.picture(f'charts-{width}-{i}')
    b.do('size', width=1280, height=900)


def accessible(b, server, what):
    for i, state in enumerate(STATES):
        b.open(server, state)
        found = b.serious()
        tap.case(not found, f'{what}: no serious finding of accessibility: {state}', found)
        b.picture(f'charts-{what}-{i}')


def bad(b, server):
    for state in 'v=histograms&hg=x', 'v=threads&tt=x', 'v=memory&mp=x', 'v=memory&mp=resident&map=%00', 'v=memory&mp=resident&map=nothing':
        b.open(server, f'r=1&{state}')
        tap.case(b.look('document.querySelectorAll("#view .card").length') == 1, f'a bad address shows the view: {state}', '')
    b.open(server, 'r=1&v=memory&mp=resident&t=1.5s')
    tap.case(b.look('document.querySelectorAll("#view img").length') == 0 and '<img src=x>' in b.texts('#groups')[0], 'names are text', b.texts('#groups'))


def main(folder):
    steps, big, tagged, mmap = (f'{folder}/{name}.hlt' for name in ('steps', 'big', 'tags', 'mmap'))
    make(steps, STEPS.replace('end', SAMPLES + 'end'))
    subprocess.run([programs['gen'], '-n', '1000000', '-o', big], check=True, stderr=subprocess.DEVNULL)
    maps = [sys.executable, '-c', 'import mmap; kept = [mmap.mmap(-1, 1 << n) for n in (16, 20)]; kept.pop()']
    for path, command, options in (tagged, [programs['tags']], []), (mmap, maps, ['--mmap']):
        subprocess.run([heaplapse, 'record', '-q', *options, '-o', path, '--', *command], check=True, env=web.ENV, stdout=subprocess.DEVNULL)
    with web.Server(heaplapse, steps, big, tagged, mmap) as server:
        with browser.Browser(folder) as b:
            for number, trace in (1, steps), (2, big):
                histograms(b, server, number, trace)
                threads(b, server, number, trace)
            bars(b, server, steps)
            matrix(b, server, steps)
            tags(b, server, tagged)
            resident(b, server, steps)
            memory(b, server, steps, {'big': big, 'mmap': mmap})
            bad(b, server)
            sizes(b, server)
            accessible(b, server, 'light')
        with browser.Browser(folder, dark=True) as b:
            accessible(b, server, 'dark')
    tap.finish()


browser.main('histograms, threads, tags and the address space', main)
