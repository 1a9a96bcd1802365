#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run_test - the views of a run: address space, processes, source files; and the controls of a running program."""
import contextlib
import json
import os
import subprocess

import browser
import tap
import web
from browser import heaplapse, programs, report


def text_of(b, where):
    return b.look(f'(document.querySelector({json.dumps(where)}) || {{}}).textContent || ""')


def number(b, where, key='bytes'):
    return int(b.look(f'document.querySelector({json.dumps(where)}).dataset.{key}'))


def address_space(b, server, trace):
    b.open(server, 'v=memory')
    wanted = report(trace, '--address-space', '--peak')
    used = [r for r in wanted['ranges'] if r['fill']]
    tap.case(number(b, '.total') == wanted['live_bytes'], 'address space: the live bytes', text_of(b, '.total'))
    found = b.look('[...document.querySelectorAll("#ranges tbody tr")].map(r => r.querySelector("a").textContent)')
    tap.case(found == [r['start'] for r in used] and found, 'address space: the ranges with blocks', found)
    tap.case(b.look('document.querySelectorAll("#ranges svg rect").length') == sum(len(r['fill']['bytes']) for r in used), 'address space: how full they are', '')
    b.open(server, 'v=memory&t=@end')
    tap.case(number(b, '.total') == report(trace, '--address-space', '--at', '@end')['live_bytes'], 'address space: the selected moment', '')


def processes(b, server, directory):
    for state, options in (('v=processes', ()), ('v=processes&q=leaked', ('--leaks',)), ('v=processes&q=allocated', ('--allocated',))):
        b.open(server, state)
        wanted = report(directory, '-g', 'process', *options)
        tap.case(number(b, '.total') == wanted['total_bytes'], f'{state}: the sum', text_of(b, '.total'))
        found = b.look('[...document.querySelectorAll("#processes tbody tr")].map(r => [+r.children[5].textContent, +r.querySelector("[data-value]").dataset.value])')
        tap.case(sorted(found) == sorted([p['pid'], p['total_bytes']] for p in wanted['processes']) and len(found) > 1, f'{state}: the rows', found)
    first = b.look('document.querySelector("#processes tbody a").getAttribute("href")')
    tap.case('processes' not in first, 'a process is a link to its trace', first)


def source(b, server, trace):
    b.open(server, 'v=source')
    found = b.look('[...document.querySelectorAll("#files tbody tr")].map(r => [r.querySelector("a").textContent, +r.querySelector("[data-value]").dataset.value])')
    wanted = [[r['name'], r['bytes']] for r in report(trace, '-g', 'file', '--peak')['rows']]
    tap.case(found == wanted and any(name.endswith('steps.c') for name, _ in found), 'source: the files', found)
    b.click('#files tbody a')
    b.ready()
    answer = report(trace, '--peak', '--source', found[0][0])
    lines = b.look('[...document.querySelectorAll("#lines tbody tr.used")].map(r => [+r.dataset.line, +r.querySelector("[data-value]").dataset.value, r.querySelector(".text").textContent])')
    tap.case(lines == [[x['line'], x['bytes'], x['text']] for x in answer['lines'] if x['blocks']] and lines, 'source: the lines', lines)
    tap.case(number(b, '.total') == answer['own_bytes'], 'source: the own bytes of the file', text_of(b, '.total'))
    b.click('#whole')
    b.ready()
    tap.case(b.look('document.querySelectorAll("#lines tbody tr").length') == answer['total_lines'], 'source: the whole file', '')
    b.open(server, 'v=table')
    b.click('#rows .to-source')
    b.ready()
    tap.case(b.look('document.querySelectorAll("#lines tbody tr.used").length') > 0, 'source: opens from a row of the table', '')
    b.open(server, 'v=source&file=nothing.c')
    tap.case('no stack of the trace' in text_of(b, '.failure'), 'source: a file that is not there', text_of(b, '.failure'))


def controls(b, servers, tmp):
    program = subprocess.Popen([heaplapse, 'record', '-q', '-o', f'{tmp}/live.hlt', '--', programs['steps']], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=web.ENV)
    program.stdout.readline()

    def step():
        program.stdin.write(b'\n')
        program.stdin.flush()
        program.stdout.readline()
    step()
    web.wait_until(lambda: os.path.exists(f'{tmp}/live.hlt') and browser.run('info', f'{tmp}/live.hlt').returncode == 0, 'a trace')
    server = servers.enter_context(web.Server(heaplapse, f'{tmp}/live.hlt'))
    b.open(server, 'v=table')
    state = 'document.querySelector(".recording").dataset.state'
    tap.case(b.look(state) == 'recording', 'controls: the state', '')
    for verb, then in (('pause', 'paused'), ('resume', 'recording')):
        b.click(f'[data-verb="{verb}"]')
        web.wait_until(lambda: b.look(state) == then, f'controls: {verb}')
        tap.case(server.get('/api/traces/1/control').json()['state'] == then, f'controls: {verb}', '')
    b.click('[data-verb="snapshot"]')
    web.wait_until(lambda: any(m['kind'] == 'snapshot' for m in server.get('/api/traces/1/timeline').json()['marks']), 'controls: a snapshot')
    tap.case(True, 'controls: a snapshot', '')
    program.stdin.close()
    program.wait(timeout=web.TIMEOUT)
    web.wait_until(lambda: not b.look('!!document.querySelector(".recording")'), 'controls: they go with the program')
    tap.case(True, 'controls: they go with the program', '')
    program.stdout.close()


def pictures(b, server, views):
    for view in views:
        b.open(server, f'v={view}')
        b.picture(view.split('&')[0])


def main(tmp):
    trace, run = f'{tmp}/steps.hlt', f'{tmp}/run.hlt'
    subprocess.run([heaplapse, 'record', '-q', '-o', trace, '--', programs['steps']], input=b'\n\n\n', stdout=subprocess.DEVNULL, env=web.ENV, check=True)
    subprocess.run([heaplapse, 'record', '-q', '-o', run, 'sh', '-c', '/bin/echo; /bin/true'], stdout=subprocess.DEVNULL, env=web.ENV, check=True)
    # The servers end after the browser: a lost connection is an error in its console.
    with contextlib.ExitStack() as servers:
        one, several = (servers.enter_context(web.Server(heaplapse, name)) for name in (trace, run))
        with browser.Browser(tmp) as b:
            address_space(b, one, trace)
            source(b, one, trace)
            pictures(b, one, ('memory', 'source&file=steps.c'))
            processes(b, several, f'{run}.d')
            pictures(b, several, ('processes',))
            controls(b, servers, tmp)
    tap.finish()


browser.main('the views of a run', main)
