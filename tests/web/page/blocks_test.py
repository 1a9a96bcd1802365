#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""blocks_test - the view of single blocks in chromium: its rows are those of `report --blocks`, in each order, on each page
and for each selection; groups, the form of the filter, the actions of a row, downloads, keys."""
import json
import subprocess

import browser
import tap
import web
from browser import programs, report

EVENTS = 12000  # some 6,000 blocks: 60 pages


def shown(b):
    """The ids of the rows that are in the document."""
    return b.look('[...document.querySelectorAll(".blocks tr[data-id]")].map(r => +r.dataset.id)')


def ids(trace, *args):
    return [r['id'] for r in report(trace, '--blocks', '-n', '0', *args)['rows']]


def total(b):
    return tuple(b.look('(() => { const t = document.querySelector("#view .total").dataset; return [+t.bytes, +t.blocks]; })()'))


def lists(b, server, trace):
    for state, options in {'q=allocated': ['--allocated'], 'q=leaked': ['--leaks'], 'q=live&t=50%25': ['--at', '50%'],
                           'q=allocated&t=10%25..60%25': ['--allocated', '--range', '10%..60%'],
                           'q=allocated&f=size:>=100': ['--allocated', '--filter', 'size:>=100']}.items():
        b.open(server, f'r=1&v=blocks&{state}')
        answer = report(trace, '--blocks', '-n', '100', *options)
        tap.case(total(b) == (answer['total_bytes'], answer['total_blocks']), f'{state}: the total', total(b))
        tap.case(shown(b) == [r['id'] for r in answer['rows']], f'{state}: the first rows', shown(b)[:5])


def orders(b, server, trace):
    b.open(server, 'r=1&v=blocks&q=allocated')
    for key in 'size', 'life', 'address', 'time':
        for reverse in [], ['--reverse']:
            b.click(f'.blocks [data-sort={key}]')
            wanted = ids(trace, '--allocated', '--sort', key, *reverse)[:100]
            tap.case(shown(b) == wanted, f'by {key} {reverse}', (b.state(), shown(b)[:5], wanted[:5]))
    b.do('back')
    b.ready()
    tap.case(shown(b) == ids(trace, '--allocated')[:100] and b.state()['s'] == 'time', 'back', b.state())


def scrolling(b, server, trace):
    wanted = ids(trace, '--allocated')
    b.open(server, 'r=1&v=blocks&q=allocated')
    height = b.look('document.querySelector(".block-list").scrollHeight')
    tap.case(abs(height - 28 * len(wanted)) < 100, 'the list is as high as all rows', (height, len(wanted)))
    for share in 0.5, 1:
        b.look(f'document.querySelector(".block-list").scrollTop = {height} * {share}')
        b.wait_for(f'[...document.querySelectorAll(".blocks tr[data-id]")].some(r => +r.dataset.id === {wanted[int((len(wanted) - 1) * share)]})')
        rows = shown(b)
        at = wanted.index(rows[0])
        tap.case(rows == wanted[at:at + len(rows)] and len(rows) <= 300, f'rows at {share} of the list, and no others', (at, len(rows)))
    b.look('document.querySelector(".block-list").scrollTop = 0')


def groups(b, server, trace):
    for sort, options in {'': [], '-run-leaked': ['--sort', 'run-leaked'], '-last': ['--sort', 'last', '--reverse']}.items():
        b.open(server, f'r=1&v=blocks&q=allocated&b=stack&f=size:>=100&s={sort}')
        wanted = report(trace, '--blocks', '--group', 'stack', '-n', '20', *options, '--filter', 'size:>=100')
        stacks = b.look('[...document.querySelectorAll(".groups tbody")].map(g => +g.dataset.stack)')
        tap.case(stacks == [r['stack'] for r in wanted['rows']], f'stacks by {sort or "bytes"}', stacks)
        values = b.values('.groups tbody [data-value]')
        tap.case(values == [r[of][k] for r in wanted['rows'] for of in ('matched', 'run') for k in ('bytes', 'blocks', 'leaked_blocks')],
                 f'their figures by {sort or "bytes"}', values[:12])
    b.wait_for('document.querySelectorAll(".groups svg.spark").length === 40')
    tap.case(True, 'each stack has two graphs')
    if wanted['groups'] > 20:
        b.click('.pager button:last-child')
        page = report(trace, '--blocks', '--group', 'stack', '-n', '20', '--offset', '20', *options, '--filter', 'size:>=100')
        stacks = b.look('[...document.querySelectorAll(".groups tbody")].map(g => +g.dataset.stack)')
        tap.case(stacks == [r['stack'] for r in page['rows']], 'the next page of stacks', stacks)
    b.click('#graphs')
    tap.case(b.look('document.querySelectorAll(".groups .spark").length') == 0 and b.state()['gr'] == 'no', 'without graphs', b.state())


def form(b, server, trace):
    b.open(server, 'r=1&v=blocks&q=allocated')
    b.click('.filter-details summary')
    for name, text, wanted in (('size-min', '64', 'size:64..'), ('size-max', '1K', 'size:64..1K'), ('not-thread', '1', 'size:64..1K -thread:1'),
                               ('depth-min', '2', 'size:64..1K -thread:1 depth:2..'), ('size-max', '', 'size:64.. -thread:1 depth:2..')):
        b.fill(f'#filter-form [name={name}]', text)
        b.press('Enter', f'#filter-form [name={name}]')
        b.ready()
        tap.case(b.state().get('f') == wanted, f'{name} = {text}', b.state())
    answer = report(trace, '--allocated', '--filter', 'size:64.. -thread:1 depth:2..')
    tap.case(total(b) == (answer['total_bytes'], answer['total_blocks']), 'the form selects blocks', total(b))
    b.choose('#filter-form select', 'group-leaked:100%')
    tap.case(b.state()['f'].endswith(' group-leaked:100%'), 'a choice', b.state())
    b.choose('#filter-form select', '')
    b.click('.chips .term:nth-child(2) button')
    tap.case(b.state()['f'] == 'size:64.. depth:2..' and b.texts('.chips .term code') == ['size:64..', 'depth:2..'], 'a chip is removed', b.state())
    b.open(server, 'r=1&v=blocks&q=allocated&f=size:5..6 fn:nothing')
    tap.case(b.look('document.querySelector("[name=size-min]").value') == '5' and not shown(b) and b.texts('.empty'),
             'the form shows the filter of the address', b.texts('.empty'))


def actions(b, server, trace):
    b.open(server, 'r=1&v=blocks&q=leaked')
    row = report(trace, '--blocks', '--leaks', '-n', '1')['rows'][0]
    more = '.blocks tr[data-id] .more button'
    for title, term in (('Only this stack', f'stack:{row["stack"]}'), ('Only this thread', f'thread:{row["thread"]}')):
        b.open(server, 'r=1&v=blocks&q=leaked')
        b.click(more)
        b.click(f'.menu button:text-is("{title}")')
        tap.case(b.state()['f'] == term and shown(b) == ids(trace, '--leaks', '--filter', term)[:100], title, b.state())
    b.open(server, 'r=1&v=blocks&q=leaked')
    b.press('Enter', more)
    b.wait_for('document.activeElement.getAttribute("role") === "menuitem"')
    b.press('Escape')
    tap.case(b.look('!document.querySelector(".menu") && document.activeElement.getAttribute("aria-haspopup") === "menu"'), 'the menu by keys')
    b.click(more, button='right')
    b.click('.menu button:text-is("History of this address")')
    wanted = ids(trace, '--allocated', '--filter', f'addr:{row["address"]}')
    tap.case(shown(b) == wanted and row['id'] in wanted and b.state()['q'] == 'allocated', 'the history of an address', (b.state(), wanted))
    b.open(server, 'r=1&v=blocks&q=leaked')
    b.click('.blocks tr[data-id] th button')
    frames = [f['function'] for f in row['frames']]
    listed = b.texts('#block-details .stack .function')
    tap.case(listed[-len(frames):] == frames, 'a block with its stack', (listed, frames))


def downloads(b, server, trace):
    b.open(server, 'r=1&v=blocks&q=allocated&f=size:>=100&s=-size')
    page, everything, csv = b.look('[...document.querySelectorAll(".downloads a")].map(a => a.getAttribute("href"))')
    rows = json.loads(server.get(page).body)['rows']
    tap.case([r['id'] for r in rows] == shown(b), 'the page as JSON', rows[:1])
    wanted = sorted(ids(trace, '--allocated', '--filter', 'size:>=100'))
    found = sorted(r['id'] for r in json.loads(server.get(everything).body)['allocations'])
    tap.case(found == wanted, 'all as JSON', found[:3])
    lines = server.get(csv).body.decode().splitlines()
    tap.case(len(lines) == len(wanted) + 1, 'all as CSV', lines[:2])


def access(b, server):
    for state in 'v=blocks&q=allocated', 'v=blocks&q=allocated&b=stack':
        b.open(server, f'r=1&{state}')
        found = b.serious()
        tap.case(not found, f'{state}: no serious finding', json.dumps(found)[:2000])
        for width in 400, 3840:
            b.do('size', width=width, height=900)
            tap.case(b.look('document.documentElement.scrollWidth <= innerWidth'), f'{state}: {width} pixels wide')
        b.do('size', width=1280, height=900)
        b.picture('blocks-' + ('stacks' if 'b=stack' in state else 'list'))


def main(folder):
    trace = f'{folder}/made.hlt'
    subprocess.run([programs['gen'], '-n', str(EVENTS), '-o', trace], check=True, stderr=subprocess.DEVNULL)
    with web.Server(browser.heaplapse, trace) as server, browser.Browser(folder) as b:
        lists(b, server, trace)
        orders(b, server, trace)
        scrolling(b, server, trace)
        groups(b, server, trace)
        form(b, server, trace)
        actions(b, server, trace)
        downloads(b, server, trace)
        access(b, server)
    tap.finish()


browser.main('single blocks on the page', main)
