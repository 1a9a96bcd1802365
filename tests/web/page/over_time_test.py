#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""over_time_test - the view of live bytes over time by group: its values are those of `report --timeline --group`."""
import subprocess

import browser
import tap
import web
from browser import programs, report

# Two sites, three sizes, two threads: 1 MiB in the first second, then 2 MiB of the other site and thread; all but 64 KiB
# is freed at 2.5 s.
STEPS = '''module /opt/app/bin/app -
name 0 1000 load load.c 10
name 0 1010 parse parse.c 20
name 0 2010 read read.c 30
node - 0 1000
node 0 0 1010
node 1 0 2010
thread 100
thread 200
alloc 64000 0 1048576 1 0 10000
alloc 1500032000 1 2097152 2 0 200000
extra 2000000000 0 0 loaded
alloc 2100032000 1 65536 2 0 900000
free 2500032000 0 0 11
free 2600000000 0 1 11
end 0 0 3000000000
'''
GROUPS = ('site', 'function', 'file', 'module', 'stack', 'thread', 'tag', 'size', 'life', 'call', 'snapshot')


def moment(b):
    """The values of the legend: the moment, and (value, highest) of each row, of the others and of all."""
    return b.look('''(() => {
        const number = e => e && e !== '' ? +e : null;
        return [+document.querySelector('#legend thead [data-moment]').dataset.moment,
            [...document.querySelectorAll('#legend [data-row]')].map(r => [r.dataset.row,
                number(r.querySelector('[data-value]').dataset.value), number(r.querySelector('[data-max]')?.dataset.max)])];
    })()''')


def wanted(answer, k):
    others = [['others', answer['others']['live_bytes'][k], None]] if answer['others']['rows'] else []
    return [*(['row', r['live_bytes'][k], r['max_live_bytes']] for r in answer['rows']), *others,
            ['total', answer['total_live_bytes'][k], None]]


def is_same(b, answer):
    at, rows = moment(b)
    k = answer['moments_ns'].index(at)
    return rows == wanted(answer, k)


def legends(b, server, number, trace):
    for group in GROUPS:
        b.open(server, f'r={number}&v=over-time&g={group}')
        answer = report(trace, '--timeline', '-g', group, '-n', '10')
        tap.case(is_same(b, answer), f'{number}, {group}: the values at the peak', (moment(b), group))
        sums = [all(sum(r[k] for r in [x['live_bytes'] for x in answer['rows']]) + answer['others']['live_bytes'][k] == v
                    for k, v in enumerate(answer['total_live_bytes']))]
        tap.case(sums == [True], f'{number}, {group}: all rows together are the total', '')
    b.open(server, f'r={number}&v=over-time&g=pool')
    tap.case(is_same(b, report(trace, '--timeline', '-g', 'site', '-n', '10')), f'{number}: pools have no curve; sites are shown', '')


def pointer(b, server, trace):
    """The values under the pointer, and the band that it points to."""
    b.open(server, 'r=1&v=over-time&g=site')
    answer = report(trace, '--timeline', '-g', 'site', '-n', '10')
    before = moment(b)[0]
    for x, y, row in (0.75, 0.95, 0), (0.25, 0.9, 1), (0.75, 0.4, 0), (0.75, 0.02, -1):
        b.do('move', where='[data-testid=chart]', at=[x, y])
        b.wait_for(f'Math.abs(+document.querySelector("#legend [data-moment]").dataset.moment - {x * 3e9}) < 2e7')
        pointed = b.look('[...document.querySelectorAll("#legend tbody tr")].findIndex(r => r.classList.contains("pointed"))')
        tap.case(is_same(b, answer) and pointed == row, f'the pointer at {x}, {y}: values and row {row}', (moment(b), pointed))
    b.picture('over-time-pointer')
    b.do('move', where='h2', at=[0.5, 0.5])
    b.wait_for(f'document.querySelector("#legend [data-moment]").dataset.moment === "{before}"')
    tap.case(is_same(b, answer), 'without the pointer the values are those of the peak', moment(b))


def selection(b, server, trace):
    b.open(server, 'r=1&v=over-time&g=size')
    b.drag('[data-testid=chart]', (0.2, 0.5), (0.6, 0.5))
    b.do('move', where='h2', at=[0.5, 0.5])
    a, z = b.state()['t'].split('..')
    tap.case((a, z) == ('600ms', '1.8s'), 'dragging in the chart selects a time', b.state())
    b.wait_for('Math.abs(+document.querySelector("#legend [data-moment]").dataset.moment - 1.8e9) < 2e7')
    tap.case(is_same(b, report(trace, '--timeline', '-g', 'size', '-n', '10')), 'the values are those of the end of the selection', moment(b))
    tap.case(b.look('document.querySelectorAll(".selected-span").length') == 2, 'it is drawn here and in the time bar', '')
    b.open(server, 'r=1&v=over-time&g=size&w=1s..2.2s')
    answer = report(trace, '--timeline', '-g', 'size', '-n', '10', '--range', '1000000000ns..2200000000ns')
    tap.case(is_same(b, answer) and answer['from_ns'] == 10 ** 9, 'the chart shows what the time bar shows', moment(b))


def rows(b, server, big):
    """Limit, hidden rows, the filter of a row, the table of all values."""
    b.open(server, 'r=2&v=over-time&g=site&on=5')
    five = report(big, '--timeline', '-g', 'site', '-n', '5')
    tap.case(is_same(b, five) and five['others']['rows'] > 0 and len(five['rows']) == 5, 'five rows, and the others', moment(b))
    b.click('#legend tbody tr:nth-child(2) input')
    name = b.state()['oh']
    tap.case(name == five['rows'][1]['name'] and is_same(b, five), 'a row can be hidden; its values stay', b.state())
    tap.case(b.look('document.querySelectorAll(".hidden-row").length') == 1, 'it is marked', '')
    b.do('reload')
    b.ready()
    tap.case(b.state().get('oh') == name and b.look('document.querySelectorAll(".hidden-row").length') == 1, 'the address has it', b.state())
    b.click('#legend thead button')
    tap.case('oh' not in b.state(), 'all are shown again', b.state())
    b.choose('#limit', '20')
    tap.case(is_same(b, report(big, '--timeline', '-g', 'site', '-n', '20')), 'another number of rows', '')
    b.open(server, 'r=2&v=over-time&g=size&on=5')
    b.click('#legend tbody tr:nth-child(1) a')
    term = b.state()['f']
    tap.case(term.startswith('size:') and is_same(b, report(big, '--timeline', '-g', 'size', '-n', '5', '--filter', term)),
             'a row leads to itself alone', b.state())
    b.open(server, 'r=1&v=over-time&g=thread&of=table')
    answer = report(big.replace('big', 'steps'), '--timeline', '-g', 'thread', '-n', '10')
    shown = b.look('[...document.querySelectorAll("#moments tbody tr")].map(r => [+r.querySelector("th").dataset.ns, '
                   '...[...r.querySelectorAll("td")].map(d => +d.dataset.value)])')
    table = [[ns, answer['total_live_bytes'][k], *(r['live_bytes'][k] for r in answer['rows'])] for k, ns in enumerate(answer['moments_ns'])]
    tap.case(shown == table and len(table) == 200, 'all values as a table', shown[:2])
    b.click('#form [data-value=lines]')
    b.picture('over-time-lines')
    tap.case(b.state()['of'] == 'lines' and is_same(b, answer), 'as lines', b.state())


def copies(b, server, trace):
    b.open(server, 'r=1&v=over-time&g=size&w=1s..2s')
    b.click('[data-copy=command]')
    words = b.do('clipboard').split()
    answer = report(trace, *words[2:-1])
    tap.case(is_same(b, answer), 'the copied command has the values', words)
    path = b.look('document.querySelector("[data-download=json]").getAttribute("href")')
    tap.case(server.get(path).json()['rows'] == answer['rows'], 'so has the download', path)


def sizes(b, server):
    for width in 400, 800, 1280, 1920, 3840:
        b.do('size', width=width, height=900)
        for state in 'r=2&v=over-time', 'r=1&v=over-time&of=table', 'r=2&v=over-time&g=stack':
            b.open(server, state)
            over = b.look('document.documentElement.scrollWidth - innerWidth')
            tap.case(over <= 0, f'{state} at {width} px: nothing is wider than the page', over)
        b.open(server, 'r=2&v=over-time')
        b.picture(f'over-time-{width}')
    b.do('size', width=1280, height=900)


def accessible(b, server, what):
    for state in 'r=2&v=over-time&t=1ms..2ms', 'r=1&v=over-time&of=table', 'r=1&v=over-time&of=lines&oh=%5Bothers%5D':
        b.open(server, state)
        found = b.serious()
        tap.case(not found, f'{what}: no serious finding of accessibility: {state}', found)


def empty(b, server):
    b.open(server, 'r=1&v=over-time&f=fn:nothing_has_this_name')
    tap.case(b.texts('#view .empty') != [], 'nothing to show is said', b.texts('#view'))
    b.open(server, 'r=1&v=over-time&f=size:x')
    tap.case('size' in b.texts('.failure p')[0], 'a wrong filter is explained', b.texts('.failure'))
    b.open(server, 'r=1&v=over-time&on=99999&of=x&oh=%00&g=stack')
    tap.case(b.look('document.querySelectorAll("#legend").length') == 1, 'a bad address shows the chart', '')


def main(folder):
    steps, big = f'{folder}/steps.hlt', f'{folder}/big.hlt'
    subprocess.run([programs['mktrace'], steps], input=STEPS.encode(), check=True)
    subprocess.run([programs['gen'], '-n', '1000000', '-o', big], check=True, stderr=subprocess.DEVNULL)
    with web.Server(browser.heaplapse, steps, big) as server:
        with browser.Browser(folder) as b:
            legends(b, server, 1, steps)
            legends(b, server, 2, big)
            pointer(b, server, steps)
            selection(b, server, steps)
            rows(b, server, big)
            copies(b, server, steps)
            sizes(b, server)
            accessible(b, server, 'light')
            empty(b, server)
        with browser.Browser(folder, dark=True) as b:
            accessible(b, server, 'dark')
            b.open(server, 'r=2&v=over-time')
            b.picture('over-time-dark')
    tap.finish()


browser.main('live bytes over time', main)
