#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""filter_test - the filter box completes names of the trace, shows its terms and the place of an error; queries are kept in
the browser; the menu of exports has every format with what is selected."""
import json
import os
import shlex
import subprocess

import browser
import tap
import web
from browser import programs, report

TRACE = '''module /opt/app/bin/app -
module /opt/app/lib/libparse.so -
name 0 1000 main main.c 3
name 1 1010 parse_row parse.c 20
name 1 2010 parse(table<int>) parse.c 30
node - 0 1000
node 0 1 1010
node 0 1 2010
thread 100
thread 200
alloc 64000 0 1048576 1 0 10000
alloc 1500032000 1 2097152 2 0 200000
free 2600000000 0 1 11
end 0 0 3000000000
'''
MARKUP = '<img/src=x/onerror=window.pwned=1>'
HOSTILE = f'''module /opt/{MARKUP.replace("/", "%2f")} -
name 0 1000 {MARKUP} {MARKUP} 1
node - 0 1000
thread 1
alloc 64000 0 100 0 0 100
end 0 0 1000000
'''


def options(b):
    return b.texts('#filter-list [role=option] .name')


def total(b):
    return b.look('+document.querySelector("#view .total").dataset.bytes')


def type_filter(b, text):
    b.fill('#filter', text)


def wait_options(b, first):
    b.wait_for(f'document.querySelector("#filter-list [role=option] .name")?.textContent === {json.dumps(first)}')


def completion(b, server, trace):
    b.open(server, 'r=1&v=table&q=allocated')
    type_filter(b, 'thr')
    wait_options(b, 'thread:')
    b.press('ArrowDown', '#filter')
    active = b.look('document.querySelector("#filter").getAttribute("aria-activedescendant")')
    tap.case(active == 'filter-option-0', 'the chosen option is announced', active)
    b.press('Enter', '#filter')
    wait_options(b, 'thread 0 (tid 100)')
    tap.case(len(options(b)) == 2, 'the values are threads of the trace', options(b))
    for _ in range(2):
        b.press('ArrowDown', '#filter')
    b.press('Enter', '#filter')
    tap.case(b.look('document.querySelector("#filter").value') == 'thread:1 ', 'a thread is completed', '')
    b.press('Enter', '#filter')
    b.wait_for('location.hash.includes("f=")')
    b.ready()
    tap.case(total(b) == 2097152 and b.state()['f'] == 'thread:1', 'and filters', b.state())
    names = {'fn:': {'main', 'parse_row', 'parse(table<int>)'}, 'file:': {'parse.c', 'main.c'}, 'module:': {'/opt/app/lib/libparse.so', '/opt/app/bin/app'},
             'call:': {'malloc'}}
    for key, known in names.items():
        type_filter(b, key)
        b.wait_for('document.querySelectorAll("#filter-list [role=option]").length > 0')
        found = set(options(b))
        tap.case(found and found <= known, f'{key} has names of the trace', found)
        b.press('ArrowDown', '#filter')
        b.press('Enter', '#filter')
        b.press('Enter', '#filter')
        b.ready()
        text = b.state()['f']
        tap.case(total(b) == report(trace, '--allocated', '-g', 'site', '--filter', text)['total_bytes'] > 0, f'{text}: matches blocks', total(b))
    type_filter(b, 'fn:TABLE')
    wait_options(b, 'parse(table<int>)')
    b.picture('completion')
    b.press('Escape', '#filter')
    tap.case(options(b) == [] and b.look('document.querySelector("#filter").value') == 'fn:TABLE', 'Escape closes the list only', options(b))
    b.open(server, 'r=2&v=table')
    type_filter(b, 'fn:')
    b.wait_for('document.querySelectorAll("#filter-list [role=option]").length > 0')
    tap.case(b.look('[window.pwned ?? null, document.querySelectorAll("#filter-list img").length]') == [None, 0], 'names are text', '')


def chips(b, server):
    b.open(server, 'r=1&v=table&q=allocated&f=thread:1 -fn:"a b" size:>=1M')
    tap.case(b.texts('.chips code') == ['thread:1', '-fn:"a b"', 'size:>=1M'], 'a chip for each term', b.texts('.chips'))
    b.click('.chips li:nth-child(2) button')
    tap.case(b.state()['f'] == 'thread:1 size:>=1M' and total(b) == 2097152, 'a term is removed', b.state())
    b.picture('chips')


def errors(b, server):
    for text, at in ('fn:a size:x', 10), ('life:<1q', 6), ('nokey:1', None):
        b.open(server, f'r=1&v=table&f={text}')
        # The failure of the view is there before its place in the filter.
        b.wait_for(f'document.querySelector("{".failure" if at is None else ".filter-error"}")')
        found = b.look('document.querySelector(".filter-error")?.dataset.at ?? null')
        if at is None:
            tap.case(b.texts('.failure p') != [], f'{text}: is explained', b.texts('.failure'))
        else:
            tap.case(found == str(at) and b.texts('.filter-error mark') == [text[at:]], f'{text}: the place of the error', (found, b.texts('.failure')))
        if at == 10:
            b.picture('filter-error')
    b.open(server, 'r=1&v=table&f=fn:main')
    tap.case(b.look('document.querySelectorAll(".filter-error").length') == 0, 'a right filter has none', '')


def queries(b, server):
    b.open(server, 'r=1&v=table&g=thread&q=leaked&f=thread:0')
    saved = b.state()
    b.click('#queries-button')
    b.fill('#queries input', 'left by <b>0</b>')
    b.press('Enter', '#queries input')
    b.picture('queries')
    b.open(server, 'r=2')
    b.do('reload')
    b.ready()
    b.click('#queries-button')
    tap.case(b.texts('[data-query]') == ['left by <b>0</b>'], 'a query is kept', b.texts('#queries'))
    b.click('[data-query]')
    found = b.state()
    tap.case({**found, 'r': '1'} == {**saved, 'r': '1'} and found['r'] == '2', 'and opens what was saved, of the trace that is shown', (found, saved))
    b.click('#queries li button')
    b.do('reload')
    b.ready()
    b.click('#queries-button')
    tap.case(b.texts('[data-query]') == [], 'and can be deleted', b.texts('#queries'))
    b.press('Escape')
    tap.case(b.look('document.querySelector("#queries").hidden'), 'Escape closes the box', '')


def exports(b, server, trace):
    b.open(server, 'r=1&v=table&g=size&q=allocated&t=1s..2s&f=thread:1')
    b.click('#export-button')
    b.wait_for('document.querySelectorAll("[data-format]").length > 0')
    formats = b.look('[...document.querySelectorAll("[data-format]")].map(a => [a.dataset.format, a.getAttribute("href")])')
    known = [line.split()[0] for line in browser.run('export', '--list').stdout.decode().splitlines()]
    tap.case([f for f, _ in formats] == known, 'every format', formats)
    for name, address in formats:
        answer = server.get(address)
        tap.case(answer.status == 200 and answer.body, f'{name}: is a file', (address, answer))
    body = server.get(dict(formats)['csv']).body
    wanted = browser.run('export', '-f', 'csv', '--allocated', '--range', '1s..2s', '--filter', 'thread:1', '-o', '-', trace).stdout
    tap.case(body == wanted and b'2097152' in body and b'1048576' not in body, 'with what is selected', (body, wanted))
    b.picture('export')
    b.click('[data-copy=curl]')
    text = b.do('clipboard')
    answer = subprocess.run(['sh', '-c', text + ' -s'], env=dict(os.environ, TOKEN=server.token), capture_output=True, timeout=60)
    rows = report(trace, '--allocated', '--range', '1s..2s', '-g', 'size', '--filter', 'thread:1')['rows']
    tap.case(json.loads(answer.stdout)['rows'] == rows and shlex.split(text)[0] == 'curl', 'the copied command of curl has the answer', (text, answer))


def accessible(b, server, what):
    for width in 1280, 400:
        b.do('size', width=width, height=900)
        b.open(server, 'r=1&v=table&f=thread:1 size:>=1M')
        if b.look('document.querySelector("#export").hidden'):
            b.click('#export-button')
        b.wait_for('document.querySelectorAll("[data-format]").length > 0')
        over = b.look('document.documentElement.scrollWidth - innerWidth')
        box = b.look('(() => { const r = document.querySelector("#export").getBoundingClientRect(); return [r.left, r.right]; })()')
        tap.case(over <= 0 and box[0] >= 0 and box[1] <= width, f'{what}, {width} px: the menu is on the page', (over, box))
        b.picture(f'export-{what}-{width}')
        found = b.serious()
        tap.case(not found, f'{what}, {width} px: no serious finding of accessibility', found)
        b.press('Escape', '#export-button')
        b.click('#queries-button')
        box = b.look('(() => { const r = document.querySelector("#queries").getBoundingClientRect(); return [r.left, r.right]; })()')
        tap.case(box[0] >= 0 and box[1] <= width, f'{what}, {width} px: the queries are on the page', box)
        type_filter(b, 'f')
        b.wait_for('document.querySelectorAll("#filter-list [role=option]").length > 0')
        found = b.serious()
        tap.case(not found, f'{what}, {width} px: nor with completions', found)


def main(folder):
    trace, hostile = f'{folder}/filter.hlt', f'{folder}/hostile.hlt'
    for path, text in (trace, TRACE), (hostile, HOSTILE):
        subprocess.run([programs['mktrace'], path], input=text.encode(), check=True)
    with web.Server(browser.heaplapse, trace, hostile) as server:
        with browser.Browser(folder) as b:
            completion(b, server, trace)
            chips(b, server)
            errors(b, server)
            queries(b, server)
            exports(b, server, trace)
            accessible(b, server, 'light')
        with browser.Browser(folder, dark=True) as b:
            accessible(b, server, 'dark')
    tap.finish()


browser.main('filters', main)
