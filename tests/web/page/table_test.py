#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""table_test - the view of tables: every group has the numbers of `report`, sorted by each column, in tables of thousands
of rows; rows are plotted, opened and downloaded."""
import csv
import io
import json
import subprocess

import browser
import tap
import web
from browser import programs, report

GROUPS = ('site', 'function', 'file', 'module', 'stack', 'thread', 'tag', 'size', 'life', 'call', 'snapshot')
SCALES = ('thread', 'size', 'life', 'snapshot') # their rows have an order of their own
MANY = 4000 # functions


def many():
    """A function for each size; function 7 frees its block at once, functions below 100 do later."""
    lines = ['module /opt/app/bin/app -', 'thread 100']
    for i in range(MANY):
        lines.append(f'name 0 {0x1000 + i * 16:x} f{i:04} f{i % 50}.c {i + 1}')
    for i in range(MANY):
        lines.append(f'node - 0 {0x1000 + i * 16:x}')
    at = 0
    for i in range(MANY):
        at += 6400
        lines.append(f'alloc {at} 0 {(i * 37) % 9001 + 1} {i} 0 {0x100000 + i * 0x10000:x}')
        if i == 7:
            at += 6400
            lines.append(f'free {at} 0 {i} 11')
    for i in range(100):
        at += 6400
        if i != 7:
            lines.append(f'free {at} 0 {i} 11')
    return '\n'.join([*lines, f'end 0 0 {at + 6400}', ''])


def shown(b):
    """The rows in the document: their numbers by column."""
    return b.look('''[...document.querySelectorAll('#rows tbody tr[data-index]')].map(r => ({index: +r.dataset.index,
        name: r.querySelector('th .function, th .name')?.textContent,
        ...Object.fromEntries([...r.querySelectorAll('[data-column]')].map(d => [d.dataset.column, d.dataset.value === '' ? null : +d.dataset.value]))}))''')


def numbers(rows):
    return [(r['bytes'], r['blocks']) for r in rows]


def groups(b, server, number, trace):
    for group in GROUPS:
        for state, options in ('', ['--peak']), ('&q=allocated&u=blocks', ['--allocated', '-s', 'blocks']):
            b.open(server, f'r={number}&v=table&g={group}{state}')
            options = options[:1] if group in SCALES else options
            rows = report(trace, *options, '-g', group)['rows']
            found = shown(b)
            tap.case(numbers(found) == numbers(rows[:len(found)]) and len(found) >= min(len(rows), 20),
                     f'{number}, {group}{state}: the rows of report', (found[:3], rows[:3]))
            tap.case([r['average'] for r in found] == [r['bytes'] // r['blocks'] if r['blocks'] else None for r in rows[:len(found)]],
                     f'{number}, {group}{state}: averages', found[:3])
    b.open(server, f'r={number}&v=table&g=pool')
    tap.case('no pool' in b.texts('.failure p')[0], f'{number}: pools', b.texts('#view'))


def sorting(b, server, trace):
    b.open(server, 'r=1&v=table&g=function&q=allocated')
    rows = report(trace, '--allocated', '-g', 'function')['rows']
    keys = {'bytes': lambda r: r['bytes'], 'blocks': lambda r: r['blocks'], 'average': lambda r: r['bytes'] // r['blocks'], 'name': lambda r: r['name']}
    for column, key in keys.items():
        for _ in range(2):
            b.click(f'[data-sort={column}]')
            sort = b.state()['s']
            found = [key({**r, 'name': r['name']}) for r in shown(b)]
            wanted = sorted((key(r) for r in rows), reverse=sort.startswith('-'))[:len(found)]
            if column == 'name':
                wanted = [n.split(' ')[0] for n in wanted]
            tap.case(sort.strip('-') == column and found == wanted, f'sorted by {sort}', (found[:5], wanted[:5]))
            side = b.look(f'document.querySelector("th.{column}").getAttribute("aria-sort")')
            tap.case(side == ('descending' if sort.startswith('-') else 'ascending'), f'{sort} is announced', side)
    b.do('reload')
    b.ready()
    tap.case(b.state()['s'] == sort and [r['name'] for r in shown(b)] == found, 'the address has the order', b.state())


def scrolling(b, server, trace):
    """Rows that are not visible are not in the document, and all can be reached."""
    b.open(server, 'r=1&v=table&g=function&q=allocated')
    rows = report(trace, '--allocated', '-g', 'function')['rows']
    tap.case(len(rows) == MANY and len(shown(b)) < 100, 'few of many rows are in the document', len(shown(b)))
    tap.case(b.look('document.querySelector("#rows").getAttribute("aria-rowcount")') == str(MANY + 1), 'their number is announced', '')
    for share in 0.5, 1.0, 0.13, 0.0:
        b.look(f'(() => {{ const e = document.querySelector(".tall"); e.scrollTop = {share} * e.scrollHeight; }})()')
        b.wait_for('''(() => { const r = document.querySelector('.tall').getBoundingClientRect();
            const e = document.elementFromPoint(r.left + 200, r.top + r.height / 2); return e?.closest('tr[data-index]') != null; })()''')
        found = shown(b)
        tap.case(all(numbers([r]) == numbers([rows[r['index']]]) for r in found), f'scrolled to {share}', found[:2])
        last = found[-1]['index'] == MANY - 1
        tap.case(last == (share == 1.0), f'the last row is there at the end: {share}', found[-1])


def sites(b, server, trace):
    """Lifetimes, the share of temporary blocks and the order by them."""
    b.open(server, 'r=1&v=table&g=site&q=allocated&s=-freed')
    facts = {r['function']: r for r in report(trace, '--sites', '--allocated')['rows']}
    temporary = {r['function']: r['blocks'] for r in report(trace, '-g', 'site', '--temporary')['rows']}
    found = shown(b)
    tap.case(all((r['freed'], r['life']) == (facts[r['name']]['freed_blocks'], facts[r['name']]['median_lifetime_ns']) for r in found),
             'freed blocks and lifetimes are those of --sites', found[:3])
    tap.case(found[0]['freed'] == 1 and all(x['freed'] >= y['freed'] for x, y in zip(found, found[1:])), 'sorted by freed blocks', found[:3])
    tap.case([r['temporary'] for r in found] == [temporary.get(r['name'], 0) for r in found], 'temporary blocks', found[:3])
    b.click('[data-sort=temporary]')
    tap.case(shown(b)[0]['name'] == 'f0007' and temporary == {'f0007': 1}, 'sorted by the share of temporary blocks', shown(b)[:2])
    b.click('[data-sort=life]')
    found = [r['life'] for r in shown(b)]
    tap.case(found == sorted((r['median_lifetime_ns'] for r in facts.values() if r['median_lifetime_ns'] is not None), reverse=True)[:len(found)],
             'sorted by lifetime', found[:5])


def actions(b, server, trace):
    b.open(server, 'r=1&v=table&g=size&q=allocated')
    rows = report(trace, '--allocated', '-g', 'size')['rows']
    b.click('#rows tr[data-index="1"] .open-row')
    tap.case(b.texts('.whole-name') == [rows[1]['name']], 'a row opens', b.texts('.actions'))
    b.picture('table-open')
    b.click('[data-action=only]')
    total = b.look('+document.querySelector("#view .total").dataset.bytes')
    tap.case(total == rows[1]['bytes'], 'only this row', (total, b.state()))
    b.do('back')
    b.ready()
    b.click('[data-action=exclude]')
    total = b.look('+document.querySelector("#view .total").dataset.bytes')
    tap.case(total == sum(r['bytes'] for r in rows) - rows[1]['bytes'], 'all but this row', (total, b.state()))
    for group in 'site', 'function', 'file', 'module', 'thread', 'life', 'call':
        b.open(server, f'r=1&v=table&q=allocated&g={group}')
        b.click('#rows .open-row')
        b.click('[data-action=only]')
        found = b.state().get('f', '')
        answer = report(trace, '--allocated', '-g', group, '--filter', found) if found else {'rows': []}
        tap.case([r['bytes'] for r in answer['rows']] == [r['bytes'] for r in shown(b)] and answer['rows'], f'only a row of {group}: {found}', shown(b)[:3])
    b.open(server, 'r=1&v=table&g=thread')
    b.click('#rows .open-row')
    b.click('[data-action=over-time]')
    tap.case(b.state()['v'] == 'over-time' and b.state()['f'] == 'thread:0', 'a row leads to its values over time', b.state())


def plots(b, server, trace):
    b.open(server, 'r=2&v=table&g=site')
    series = {r['name']: r['max_live_bytes'] for r in report(trace, '--timeline', '-g', 'site', '-n', '0')['rows']}
    tap.case(b.look('document.querySelectorAll("[data-testid=plotted]").length') == 0, 'nothing is plotted at first', '')
    for i in 0, 2:
        b.click(f'#rows tr[data-index="{i}"] .check input')
    keys = b.state()['tp'].split('\n')
    tap.case(len(keys) == 2 and all(k in series for k in keys), 'checked rows are in the address', keys)
    tap.case(b.look('document.querySelectorAll("[data-testid=plotted]").length') == 1, 'and plotted', '')
    b.picture('table-plotted')
    b.drag('[data-testid=plotted]', (0.2, 0.5), (0.6, 0.5))
    tap.case('..' in b.state()['t'], 'the plot selects a time', b.state())
    b.do('reload')
    b.ready()
    tap.case(b.look('document.querySelectorAll("#rows .check input:checked").length') == 2, 'the address restores them', b.state())


def downloads(b, server, trace):
    b.open(server, 'r=1&v=table&g=function&q=allocated&f=size:>4K')
    options = ['--allocated', '-g', 'function', '--filter', 'size:>4K']
    path = {kind: b.look(f'document.querySelector("[data-download={kind}]").getAttribute("href")') for kind in ('json', 'csv')}
    rows = report(trace, *options)['rows']
    tap.case(server.get(path['json']).json()['rows'] == rows, 'JSON', path)
    table = list(csv.DictReader(io.StringIO(server.get(path['csv']).body.decode())))
    tap.case([int(r['bytes']) for r in table] == [r['bytes'] for r in rows], 'CSV', table[:2])


def sizes(b, server):
    for width in 400, 800, 1280, 1920, 3840:
        b.do('size', width=width, height=900)
        for state in 'r=2&v=table&g=site', 'r=2&v=table&g=stack', 'r=1&v=table&g=function':
            b.open(server, state)
            over = b.look('document.documentElement.scrollWidth - innerWidth')
            tap.case(over <= 0, f'{state} at {width} px: nothing is wider than the page', over)
        b.open(server, 'r=2&v=table&g=site')
        b.picture(f'table-{width}')
    b.do('size', width=1280, height=900)


def accessible(b, server, what):
    for state in 'r=2&v=table&g=site', 'r=1&v=table&g=function&s=-name':
        b.open(server, state)
        b.click('#rows tr[data-index="1"] .open-row')
        if b.look('document.querySelectorAll("#rows .check input").length'): # only the largest rows have values over time
            b.click('#rows tr[data-index="0"] .check input')
        found = b.serious()
        tap.case(not found, f'{what}: no serious finding of accessibility: {state}', json.dumps(found)[:2000])


def main(folder):
    long, big = f'{folder}/long.hlt', f'{folder}/big.hlt'
    subprocess.run([programs['mktrace'], long], input=many().encode(), check=True)
    subprocess.run([programs['gen'], '-n', '1000000', '-o', big], check=True, stderr=subprocess.DEVNULL)
    with web.Server(browser.heaplapse, long, big) as server:
        with browser.Browser(folder) as b:
            groups(b, server, 1, long)
            groups(b, server, 2, big)
            sorting(b, server, long)
            scrolling(b, server, long)
            sites(b, server, long)
            actions(b, server, long)
            plots(b, server, big)
            downloads(b, server, long)
            sizes(b, server)
            accessible(b, server, 'light')
        with browser.Browser(folder, dark=True) as b:
            accessible(b, server, 'dark')
            b.picture('table-dark')
    tap.finish()


browser.main('tables', main)
