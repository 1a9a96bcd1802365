#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_test - the frame of the page in chromium: its numbers are those of `report`, the selected time applies to every
view, the address restores everything, a running program is followed."""
import os
import shlex
import subprocess
import time

import browser
import tap
import web
from browser import heaplapse, programs, report

# Three phases: 1 MiB in the first second, 2 MiB more in the second one, all but 64 KiB freed at 2.5 s; a mark at 2 s.
PHASES = '''module /opt/app/bin/app -
node - 0 1000
node 0 0 1010
node 1 0 2010
thread 100
alloc 64000 0 1048576 1 0 10000
rss 500000000 4194304
alloc 1500032000 0 2097152 2 0 200000
rss 1600000000 9437184
extra 2000000000 0 0 loaded
alloc 2100032000 0 65536 2 0 900000
alloc 2200000000 0 24 2 0 990000
free 2200064000 0 3 11
free 2500032000 0 0 11
free 2600000000 0 1 11
end 0 0 3000000000
'''
# Names that would run, if they were markup.
MARKUP = '<img/src=x/onerror=window.pwned=1><script>window.pwned=2</script>'
HOSTILE = f'''module /opt/{MARKUP.replace("/", "%2f")} -
name 0 1000 {MARKUP} {MARKUP} 1
node - 0 1000
thread 1
alloc 64000 0 100 0 0 100
extra 320000 1 0 {MARKUP}
end 0 0 1000000
'''


def make(path, text):
    subprocess.run([programs['mktrace'], path], input=text.encode(), check=True)
    return path


def figures(b):
    return {f: int(v) if v else None for f, v in b.look(
        '[...document.querySelectorAll(".figure")].map(f => [f.dataset.figure, f.querySelector("data").getAttribute("value")])')}


def rows(b, where):
    """(number, name) of the rows of a card or table."""
    return [(int(v), name) for v, name in b.look(
        f'[...document.querySelectorAll("{where} tbody tr")].map(r => [r.querySelector("[data-value]").dataset.value, '
        'r.querySelector("th").innerText.replace(/\\s+/g, " ").trim()])')]


def total(b):
    return tuple(b.look('(() => { const t = document.querySelector("#view .total")?.dataset ?? {}; return [+t.bytes, +t.blocks]; })()'))


def wanted(trace, *args):
    answer = report(trace, *args)
    return answer['total_bytes'], answer['total_blocks']


def overview(b, server, traces):
    for i, trace in enumerate(traces, 1):
        b.open(server, f'r={i}')
        o = report(trace, '--overview')
        shown = figures(b)
        tap.case([shown[f] for f in ('peak', 'end', 'allocations', 'resident')] ==
                 [o['peak_bytes'], o['end_bytes'], o['allocated_blocks'], o['resident_bytes']], f'{trace}: figures', (shown, o))
        tap.case([t.split(' ▲ ')[-1].removesuffix(' show').removeprefix('▲').strip() for t in b.texts('.verdicts li')] ==
                 [v['text'] for v in o['verdicts']], f'{trace}: verdicts', b.texts('.verdicts li'))
        for name, by in (('held', 'bytes'), ('left', 'bytes'), ('growing', 'bytes'), ('churning', 'bytes')):
            found = [v for v, _ in rows(b, f'[data-list={name}]')]
            tap.case(found == [r[by] for r in o[name]['rows']], f'{trace}: list {name}', (found, o[name]))
        info = o['allocated_blocks']
        tap.case(b.values('[data-testid=allocations]') == [info], f'{trace}: the header', b.texts('header'))


def links(b, server, trace):
    """A row of a list leads to the stacks of its site, with the numbers of the list."""
    b.open(server, 'r=1')
    value, _ = rows(b, '[data-list=held]')[0]
    b.click('[data-list=held] tbody tr:first-child a')
    state = b.state()
    tap.case(state['v'] == 'table' and state['t'] == '@peak' and state['f'].startswith('fn:'), 'a row leads to its stacks', state)
    tap.case(total(b) == wanted(trace, '--at', '@peak', '--filter', state['f']) and total(b)[0] >= value, 'with the same numbers', total(b))
    b.do('back')
    b.ready()
    tap.case(b.state().get('v') is None and b.look('document.querySelector("#view").dataset.view') == 'overview', 'back', b.state())
    b.do('forward')
    b.ready()
    tap.case(b.state() == state and total(b)[0] >= value, 'forward', b.state())


def selections(b, server, trace):
    """Each quantity at each kind of time has the numbers of the command; an address of its own restores it."""
    cases = {
        '': ['--peak'], 't=1s': ['--at', '1s'], 't=@mark:loaded': ['--at', '@mark:loaded'], 't=1s..2.2s': ['--at', '2.2s'],
        'q=growth': ['--growth', '..'], 'q=growth&t=1s..2.3s': ['--growth', '1s..2.3s'], 'q=growth&t=2.3s': ['--growth', '..2.3s'],
        'q=allocated': ['--allocated'], 'q=allocated&t=1s..2s': ['--allocated', '--range', '1s..2s'],
        'q=temporary': ['--temporary'], 'q=temporary&t=..1s': ['--temporary', '--range', '..1s'],
        'q=leaked': ['--leaks'], 'q=leaked&t=2s..': ['--leaks', '--filter', 'time:2s..'],
        'q=allocated&f=size:>=64K': ['--allocated', '--filter', 'size:>=64K'],
    }
    for state, options in cases.items():
        for view, group in ('table', 'site'), ('table', 'size'):
            b.open(server, f'r=1&v={view}&g={group}&{state}')
            tap.case(total(b) == wanted(trace, *options), f'{state or "nothing selected"}, by {group}', (total(b), wanted(trace, *options)))
        b.click('[data-copy=command]')
        words = shlex.split(b.do('clipboard'))
        tap.case(words[:2] == ['heaplapse', 'report'] and words[-1] == os.path.basename(trace), f'{state}: copied', words)
        answer = report(trace, *words[2:-1])
        tap.case((answer['total_bytes'], answer['total_blocks']) == total(b), f'{state}: the copied command has the numbers', words)
    b.open(server, 'r=1&t=1s..2.2s&q=growth')
    shown = [v for v, _ in rows(b, '[data-list=selected]')]
    top = [r['bytes'] for r in report(trace, '--growth', '1s..2.2s', '-g', 'site')['rows']][:5]
    tap.case(shown == top and shown, 'the overview shows the selection', (shown, top))


def time_bar(b, server, trace):
    b.open(server, 'r=1&v=table')
    before = total(b)
    b.drag('[data-testid=timebar]', (0.2, 0.5), (0.6, 0.5))
    a, z = (float(t.removesuffix('s').removesuffix('m')) for t in b.state()['t'].split('..'))
    a, z = (v / 1000 if v > 10 else v for v in (a, z))
    tap.case(abs(a - 0.6) < 0.02 and abs(z - 1.8) < 0.02, 'dragging selects a range', b.state())
    tap.case(total(b) == wanted(trace, '--at', b.state()['t'].split('..')[1]) != before, 'and the view follows it', total(b))
    b.drag('[data-testid=timebar]', (0.6, 0.5), (0.9, 0.5))
    tap.case(b.state()['t'].split('..')[1].startswith('2.7'), 'its end can be dragged', b.state())
    b.do('back')
    b.ready()
    tap.case(b.state()['t'].split('..')[1].startswith('1.8'), 'a drag is one step back', b.state())
    b.click_at('[data-testid=timebar]', (0.05, 0.5))
    tap.case('..' not in b.state()['t'], 'a click selects a moment', b.state())
    b.press('ArrowRight', '[role=slider]')
    b.ready()
    moved = b.state()['t']
    b.press('Home', '[role=slider]')
    b.ready()
    tap.case(b.state()['t'] == '0ns' != moved, 'keys move it', (moved, b.state()))
    for name, state in ('@peak', '@peak'), ('@end', '@end'), ('..', '..'):
        b.click(f'[data-time="{name}"]')
        tap.case(b.state()['t'] == state, f'button {name}', b.state())
    b.click('.mark')
    tap.case(b.state()['t'] == '@mark:loaded', 'a mark is a moment', b.state())
    b.do('wheel', where='[data-testid=timebar]', at=[0.5, 0.5], by=-100)
    b.wait_for('location.hash.includes("w=")')
    window = b.state()['w']
    b.press(']')
    tap.case(b.state()['w'] != window, 'the wheel zooms, keys move what is visible', (window, b.state()))
    b.picture('time-bar')
    state = b.state()
    b.do('reload')
    b.ready()
    tap.case(b.state() == state and total(b) == wanted(trace, '--at', '@mark:loaded'), 'all is restored by the address', b.state())


def filters(b, server, trace):
    b.open(server, 'r=1&v=table')
    b.press('/')
    tap.case(b.look('document.activeElement.id') == 'filter', 'the key / leads to the filter', '')
    b.fill('#filter', 'size:>=1M')
    b.press('Enter', '#filter')
    b.wait_for('location.hash.includes("f=")')
    b.ready()
    tap.case(total(b) == wanted(trace, '--peak', '--filter', 'size:>=1M'), 'a filter', total(b))
    b.open(server, 'r=1&v=table&f=fn:(a')
    b.open(server, 'r=1&v=table&f=size:x')
    tap.case(b.texts('.failure p')[0].startswith('--filter') or 'size' in b.texts('.failure p')[0], 'a wrong filter is explained', b.texts('.failure'))
    b.click('.failure button')
    tap.case('f' not in b.state() and total(b) == wanted(trace, '--peak'), 'and can be removed', b.state())
    b.open(server, 'r=1&v=table&f=fn:nothing_has_this_name')
    tap.case(any('nothing_has_this_name' in n for n in b.texts('.note')), 'a filter that matches nothing is named', b.texts('.note'))


def bad_addresses(b, server):
    for state in 'r=99', 'v=nothing', 'q=x&u=y&g=z&t=soon', 't=9s..1s', 'w=5..', 'f=%00', 't=' + 'x' * 3000, 'r=1e5&w=@peak..':
        b.open(server, state)
        tap.case(b.look('document.querySelectorAll("main").length') == 1, f'the page stays whole: {state[:30]}', '')


def keyboard_and_sizes(b, server):
    b.open(server, 'r=1')
    views = b.look('[...document.querySelectorAll(".tabs a")].map(a => a.dataset.view)')
    for i, view in reversed(list(enumerate(views[:9], 1))):
        b.press(str(i))
        b.wait_for(f'document.querySelector("#view").dataset.view === "{view}"')
        b.ready()
    tap.case({'overview', 'table', 'flame', 'tree'} <= set(views), 'digits choose views', views)
    for width in 400, 800, 1920, 3840:
        b.do('size', width=width, height=900)
        for view in 'overview', 'table':
            b.open(server, f'r=1&v={view}')
            over = b.look('document.documentElement.scrollWidth - innerWidth')
            tap.case(over <= 0, f'{view} at {width} px: nothing is wider than the page', over)
            b.picture(f'{view}-{width}')
    b.do('size', width=1280, height=900)
    b.open(server, 'r=1&t=1s..2s')
    found = b.serious()
    tap.case(not found, 'no serious finding of accessibility', found)


def copies(b, server):
    b.open(server, 'r=1&v=table&t=1s')
    b.click('[data-copy=link]')
    tap.case(b.do('clipboard') == b.do('url') and 'token' not in b.do('url'), 'the copied link has no token', b.do('url'))


def hostile(b, server):
    for view in 'v=overview', 'v=table&g=function', 'v=table&g=stack', 'v=table&g=file', 'v=table&g=module', 'v=table&f=' + 'fn:"<img>"':
        b.open(server, f'r=2&{view}')
        found = b.look('[window.pwned ?? null, document.querySelectorAll("img, main script").length]')
        tap.case(found == [None, 0], f'{view}: names are text', found)
    b.open(server, 'r=2')
    tap.case('window.pwned=1' in b.texts('[data-list=held]')[0], 'and they are there', b.texts('[data-list=held]'))


def following(folder, dark):
    """A program that grows by known steps: the page shows them without being asked."""
    trace = f'{folder}/steps.hlt'
    program = subprocess.Popen([heaplapse, 'record', '-q', '-o', trace, '--', programs['steps']], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=web.ENV)
    program.stdout.readline()
    while not os.path.exists(trace):
        time.sleep(0.05)
    with web.Server(heaplapse, trace) as server, browser.Browser(folder, dark=dark) as b:
        b.open(server, 'v=table')
        tap.case(b.texts('[data-testid=live]') == ['● live'], 'a running program is marked', b.texts('header'))
        for step in 1, 2, 3:
            program.stdin.write('\n')
            program.stdin.flush()
            program.stdout.readline()
            b.wait_for(f'+document.querySelector("#view .total").dataset.bytes >= {step << 20}')
            tap.case(total(b)[0] < (step + 1) << 20, f'step {step} is shown', total(b))
        b.picture('live')
        b.open(server, 'v=table&t=@end')
        tap.case('paused' in b.texts('[data-testid=live]')[0], 'a selection stops following', b.texts('header'))
        b.open(server, 'v=table')
        program.stdin.close()
        program.wait()
        b.wait_for('!document.querySelector("[data-testid=live]")')
        b.ready()
        tap.case(total(b) == wanted(trace, '--peak'), 'at its end it is an ordinary trace', total(b))


def main(folder):
    phases = make(f'{folder}/phases.hlt', PHASES)
    bad = make(f'{folder}/<img src=x onerror=window.pwned=3>.hlt', HOSTILE)
    big = f'{folder}/big.hlt'
    subprocess.run([programs['gen'], '-n', '1000000', '-o', big], check=True, stderr=subprocess.DEVNULL)
    with web.Server(heaplapse, phases, bad, big) as server, browser.Browser(folder) as b:
        overview(b, server, [phases, bad, big])
        links(b, server, phases)
        selections(b, server, phases)
        time_bar(b, server, phases)
        filters(b, server, phases)
        bad_addresses(b, server)
        keyboard_and_sizes(b, server)
        copies(b, server)
        hostile(b, server)
    with web.Server(heaplapse, phases) as server, browser.Browser(folder, dark=True) as b:
        b.open(server, 't=1s..2s')
        found = b.serious()
        tap.case(not found, 'dark: no serious finding of accessibility', found)
        b.picture('dark')
    following(folder, True)
    tap.finish()


browser.main('the page', main)
