#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""flame_test - the flame graph and the tree of the page: their numbers are those of `report`, the zoom is in the address
by names, the share of a search is that of the same filter, everything works by keys."""
import json
import shlex
import subprocess

import browser
import tap
import web
from browser import heaplapse, programs, report

# main calls parse_file (row, and a function of a library) and walk, which calls itself. The peak is at 2 s.
PROGRAM = '''module /bin/made-up -
module /usr/lib/libmake.so.1 -
name 0 1000 main main.c 10
name 0 2000 ns::parse_file(char%20const*) parse.c 20
name 0 3000 parse_row parse.c 30
name 0 4000 walk walk.c 5
name 1 5000 lib_make make.c 3
node - 0 1000
node 0 0 2000
node 1 0 3000
node 0 0 4000
node 3 0 4000
node 4 1 5000
node 1 1 5000
thread 100
alloc 64000 0 1000 2 0 10000
alloc 1000000000 0 500 5 0 20000
alloc 1000064000 0 200 4 0 30000
alloc 1000128000 0 100 3 0 40000
alloc 2000000000 0 300 6 0 50000
alloc 2000064000 0 24 1 0 60000
free 2500032000 0 0 10000
end 0 0 3000000000
'''
MARKUP = '<img/src=x/onerror=window.pwned=1>'
HOSTILE = f'''module /opt/{MARKUP.replace("/", "%2f")} -
name 0 1000 {MARKUP};a {MARKUP} 1
node - 0 1000
thread 1
alloc 64000 0 100 0 0 100
end 0 0 1000000
'''
GRAPH = '[data-testid=flame]'


def make(path, text):
    subprocess.run([programs['mktrace'], path], input=text.encode(), check=True)
    return path


def total(b):
    return tuple(b.look('(() => { const t = document.querySelector("#view .total").dataset; return [+t.bytes, +t.blocks]; })()'))


def wanted(trace, *args):
    answer = report(trace, *args)
    return answer['total_bytes'], answer['total_blocks']


def focused(b):
    """(name, bytes, blocks) of the focused frame."""
    name, size, blocks = b.look('(f => [f.querySelector("strong").innerText, +f.dataset.bytes, +f.dataset.blocks])'
                                '(document.querySelector("[data-testid=focused]"))')
    return name, size, blocks


def rows(b):
    """(level, function, bytes, blocks) of the rows of the tree."""
    return [tuple(r) for r in b.look(
        '[...document.querySelectorAll("[role=treegrid] tr[aria-level]")].map(r => [+r.ariaLevel, '
        'r.querySelector(".function").innerText, +r.dataset.bytes, +r.dataset.blocks])')]


def nodes(answer):
    """The same of an answer."""
    found, levels = [], []
    for n in answer['nodes']:
        levels.append(1 if n['parent'] is None else levels[n['parent']] + 1)
        found.append((levels[-1], n['function'], n['bytes'], n['blocks']))
    return found


def of_server(server, query):
    return json.loads(server.get(f'/api/traces/1/{query}').body)


def press(b, *keys):
    for key in keys:
        b.press(key, GRAPH)


def selections(b, server, trace):
    cases = {'': ['--peak'], 't=1.5s': ['--at', '1.5s'], 'q=growth&t=0.5s..2s': ['--growth', '0.5s..2s'], 'q=leaked': ['--leaks'],
             'q=allocated&f=size:>=200': ['--allocated', '--filter', 'size:>=200']}
    for state, options in cases.items():
        for view in 'flame', 'tree', 'flame&dir=up', 'tree&dir=up&lib=show':
            b.open(server, f'r=1&v={view}&{state}')
            tap.case(total(b) == wanted(trace, *options), f'{view} {state}: the total', (total(b), wanted(trace, *options)))
        b.click('[data-copy=command]')
        words = shlex.split(b.do('clipboard'))
        tap.case('--full-stacks' in words and '--top-down' not in words, f'{state}: the copied command has the direction', words)
        tap.case((lambda a: (a['total_bytes'], a['total_blocks']))(report(trace, *words[2:-1])) == total(b), 'and the numbers', words)


def zoom(b, server, trace):
    b.open(server, 'r=1&v=flame&lib=show')
    tree = {n[1]: n for n in nodes(report(trace, '--peak'))}
    press(b, 'ArrowDown', 'ArrowDown')
    tap.case(focused(b) == tree['ns::parse_file(char const*)'][1:], 'arrows move the focus to callees', (focused(b), tree))
    press(b, 'ArrowRight')
    tap.case(focused(b)[0] == 'walk', 'and to siblings', focused(b))
    tap.case('walk' in b.texts('[data-testid=focused] [aria-live]')[0], 'which is announced', b.texts('[data-testid=focused]'))
    press(b, 'ArrowLeft', 'ArrowUp')
    tap.case(focused(b) == tree['main'][1:], 'and to the caller', focused(b))
    press(b, 'ArrowDown', 'Enter')
    b.ready()
    state = b.state()
    tap.case(state['z'] == 'main:10;ns::parse_file(char const*):20', 'Enter zooms, and the address has the names', state)
    tap.case(b.texts('.flame-path [aria-current]') == ['ns::parse_file(char const*)'], 'the path is shown', b.texts('.flame-path'))
    b.do('reload')
    b.ready()
    tap.case(b.state() == state and focused(b) == tree['ns::parse_file(char const*)'][1:], 'the address restores it', (b.state(), focused(b)))
    b.picture('flame-zoomed')
    b.open(server, 'r=1&v=flame&lib=show&t=2.7s&z=main:10;walk:5;gone:7;more')
    tap.case(b.texts('.flame-path [aria-current]') == ['walk'], 'of a path that is not there the first part', b.texts('.flame-path'))
    press(b, 'Escape')
    tap.case(b.state()['z'] == 'main:10', 'Escape leads to the caller', b.state())
    press(b, 'Backspace')
    tap.case('z' not in b.state(), 'Backspace does so, too', b.state())
    b.do('back')
    b.ready()
    tap.case(b.state()['z'] == 'main:10', 'a zoom is a step back', b.state())
    b.click('.flame-path a')
    tap.case('z' not in b.state(), 'the path leads out', b.state())
    b.click_at(GRAPH, (0.1, 1.5 / int(b.look(f'document.querySelector("{GRAPH}").dataset.rows'))))
    tap.case(b.state()['z'] == 'main:10', 'a click zooms', b.state())


def actions(b, server, trace):
    b.open(server, 'r=1&v=flame&lib=show')
    press(b, 'Home', 'ArrowDown', 'ArrowDown', 'ArrowRight')
    b.wait_for('document.querySelector("[data-testid=over-time]")?.dataset.ready === "true"')
    curve = report(trace, '--timeline', '--filter', 'fn:/^walk$/')['peak_bytes']
    tap.case(b.values('[data-testid=over-time]') == [curve], 'the frame over time', b.texts('.over-time'))
    for action, options in ('only', ['--filter', 'fn:/^walk$/']), ('exclude', ['--filter', '-fn:/^walk$/']), ('table', ['--filter', 'fn:/^walk$/']):
        b.open(server, 'r=1&v=flame&lib=show&q=allocated')
        press(b, 'Home', 'ArrowDown', 'ArrowDown', 'ArrowRight')
        b.click(f'[data-action={action}]')
        tap.case(total(b) == wanted(trace, '--allocated', *options) and b.state()['v'] == ('table' if action == 'table' else 'flame'),
                 f'{action}: the numbers of its filter', (total(b), b.state()))


def search(b, server, trace):
    b.open(server, 'r=1&v=flame&lib=show')
    b.fill('#find', 'WALK')
    b.wait_for('location.hash.includes("find=")')
    b.ready()
    matched = report(trace, '--at', '@peak', '--filter', 'fn:/walk/')['total_bytes']
    tap.case(b.values('[data-testid=matches]') == [matched], 'the share counts each block once', (b.texts('[data-testid=matches]'), matched))
    tap.case(b.texts('[data-testid=matches]')[0].startswith('2 frames, '), 'and the frames are counted', b.texts('[data-testid=matches]'))
    b.picture('flame-search')
    press(b, 'n')
    first = focused(b)
    press(b, 'n')
    tap.case(first[0] == focused(b)[0] == 'walk' and first[1] > focused(b)[1], 'n leads from match to match', (first, focused(b)))
    press(b, 'N')
    tap.case(focused(b) == first, 'N leads back', focused(b))
    b.click('#recursion')
    tap.case(b.texts('[data-testid=matches]')[0].startswith('1 frame, ') and b.values('[data-testid=matches]') == [matched],
             'merged recursion is one frame with the same share', b.texts('[data-testid=matches]'))
    b.open(server, 'r=1&v=flame&find=nothing(')
    tap.case(b.values('[data-testid=matches]') == [0], 'no match', b.texts('[data-testid=matches]'))


def around(b, server, trace):
    b.open(server, 'r=1&v=flame&lib=show&q=allocated')
    press(b, 'Home', 'ArrowDown', 'ArrowDown', 'ArrowRight', 's')
    b.ready()
    tap.case(b.state()['fn'] == 'walk', 'callers and callees of a function', b.state())
    totals = b.look('[...document.querySelectorAll("#view .total")].map(t => +t.dataset.bytes)')
    want = wanted(trace, '--allocated', '--filter', 'fn:/^walk$/')[0]
    tap.case(totals == [want, want], 'both have the total of its filter', (totals, want))
    b.picture('flame-around')
    base = 'tree?allocated&filter=fn:walk&function=walk'
    down, up = nodes(of_server(server, base)), nodes(of_server(server, base + '&bottom-up'))
    full = nodes(report(trace, '--allocated', '--filter', 'fn:walk'))
    tap.case(down == [(level - 1, *rest) for level, *rest in full if level > 1], 'callees are the part of the tree below it', (down, full))
    tap.case(up == [(1, 'walk', want, 3), (2, 'main', want, 3)], 'callers are above its outermost call', up)
    tap.case(of_server(server, 'tree?allocated&function=nothing')['nodes'] == [], 'without the function there is nothing', '')
    b.click('#around-end')
    tap.case('fn' not in b.state() and total(b) == wanted(trace, '--allocated'), 'back to all stacks', b.state())


def trees(b, server, trace):
    b.open(server, 'r=1&v=tree&lib=show')
    tap.case([r[1] for r in rows(b)] == ['main', 'ns::parse_file(char const*)', 'walk'], 'it is open to the first branch', rows(b))
    grid = '[role=treegrid]'
    b.press('ArrowDown', grid)
    for _ in range(13):
        b.press('*', grid)
        b.press('ArrowDown', grid)
    opened = rows(b)
    tap.case(opened == nodes(report(trace, '--peak')), 'all opened by keys: the nodes of report', (opened, nodes(report(trace, '--peak'))))
    b.picture('tree')
    tap.case(focused(b) == ('malloc', 100, 1), 'the facts of the focused row are below', focused(b))
    b.press('Home', grid)
    b.press('ArrowLeft', grid)
    tap.case([r[1] for r in rows(b)] == ['main'], 'a key closes a node', rows(b))
    tap.case(b.look(f'document.querySelector("{grid} tr[aria-level]").ariaExpanded') == 'false', 'and it says so', '')
    b.click(f'{grid} tr[aria-level]')
    tap.case(rows(b) == opened, 'a click opens it', rows(b))
    b.click('[data-action=source]')
    tap.case((b.state()['v'], b.state()['file']) == ('source', 'main.c'), 'a frame leads to its source file', b.state())
    b.open(server, 'r=1&v=tree&dir=up')
    up = nodes(of_server(server, 'tree?folded&bottom-up'))
    tap.case(rows(b)[0] == up[0] and up[0][1] == 'parse_row', 'bottom-up begins at the sites', (rows(b), up))


def large(b, server, trace):
    """A tree of thousands of nodes: few rows are in the page, each with its numbers."""
    for unit in 'bytes', 'blocks':
        b.open(server, f'r=2&v=tree&lib=show&q=allocated&u={unit}')
        want = nodes(report(trace, '--allocated'))
        grid = '[role=treegrid]'
        for _ in range(6):
            b.press('*', grid)
            b.press('ArrowDown', grid)
        b.press('End', grid)
        count = int(b.look(f'+document.querySelector("{grid}").ariaRowCount')) - 1
        shown = rows(b)
        tap.case(len(shown) < 80, f'{unit}: of {count} rows {len(shown)} are in the page', '')
        tap.case(shown and set(shown) <= set(want), 'with the numbers of report', [s for s in shown if s not in set(want)])
        b.open(server, f'r=2&v=flame&lib=show&q=allocated&u={unit}')
        order = 2 if unit == 'bytes' else 3
        press(b, 'ArrowDown')
        level = [n for n in want if n[0] == 1]
        tap.case(focused(b)[order - 1] == max(n[order] for n in level), f'{unit}: the first frame is the largest', (focused(b), level[:3]))
    b.picture('flame-large')


def sizes(b, server):
    for width in 400, 800, 1920, 3840:
        b.do('size', width=width, height=900)
        for view in 'flame', 'flame&pic=flame&find=parse', 'flame&fn=walk', 'tree':
            b.open(server, f'r=1&v={view}')
            over = b.look('document.documentElement.scrollWidth - innerWidth')
            tap.case(over <= 0, f'{view} at {width} px: nothing is wider than the page', over)
            b.picture(f'{view.replace("&", "-")}-{width}')
    b.do('size', width=1280, height=900)


def access(b, server, name):
    for view in 'flame&find=walk', 'flame&fn=walk', 'tree':
        b.open(server, f'r=1&v={view}')
        found = b.serious()
        tap.case(not found, f'{name} {view}: no serious finding of accessibility', found)


def hostile(b, server):
    for view in 'flame', 'tree', 'flame&find=<img', 'flame&fn=<img>', 'flame&z=%00;;;%5C', 'flame&z=' + 'x;' * 9000, 'flame&pic=x&dir=y&lib=z&rec=1':
        b.open(server, f'r=3&v={view}')
        if view == 'flame':
            press(b, 'ArrowDown', 'Enter')
            tap.case(focused(b)[0] == f'{MARKUP};a', 'the name is there', focused(b))
        found = b.look('[window.pwned ?? null, document.querySelectorAll("img, main script").length, document.querySelectorAll("main").length]')
        tap.case(found == [None, 0, 1], f'{view[:40]}: names are text', found)


def main(folder):
    trace = make(f'{folder}/program.hlt', PROGRAM)
    bad = make(f'{folder}/hostile.hlt', HOSTILE)
    big = f'{folder}/big.hlt'
    subprocess.run([programs['gen'], '-n', '200000', '-o', big], check=True, stderr=subprocess.DEVNULL)
    with web.Server(heaplapse, trace, big, bad) as server, browser.Browser(folder) as b:
        selections(b, server, trace)
        zoom(b, server, trace)
        actions(b, server, trace)
        search(b, server, trace)
        around(b, server, trace)
        trees(b, server, trace)
        large(b, server, big)
        sizes(b, server)
        access(b, server, 'light')
        hostile(b, server)
    with web.Server(heaplapse, trace) as server, browser.Browser(folder, dark=True) as b:
        access(b, server, 'dark')
        b.open(server, 'v=flame')
        b.picture('flame-dark')
    tap.finish()


browser.main('the flame graph', main)
