#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""recipes_test - the recipes of docs/commands/serve.md answer, with the numbers of `report`."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import web
import tap

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
HEAPLAPSE, _, GEN = (os.path.abspath(a) for a in sys.argv[1:4])


def report(trace, *args):
    done = subprocess.run([HEAPLAPSE, 'report', '--json', *args, trace], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)
    return json.loads(done.stdout)


def wanted(trace):
    """The lines of each recipe, by the begin of its path."""
    peak = report(trace, '--peak', '-g', 'site')['rows'][:5]
    course = report(trace, '--timeline', '-g', 'module', '-n', '3')
    sites = report(trace, '--allocated', '--sites')['rows']
    info = report(trace, '--leaks', '--no-default-suppressions', '-g', 'module')
    return {
        'traces/1/table/site': [[str(r['bytes']), str(r['blocks']), r['name']] for r in peak],
        'traces/1/timeline/module': [['ns', *(r['name'] for r in course['rows'])],
                                     *([str(ns), *(str(r['live_bytes'][k]) for r in course['rows'])] for k, ns in enumerate(course['moments_ns']))],
        'traces/1/sites': [[str(r['bytes']), r['name']] for r in sites if r['freed_blocks'] == 0],
        'traces': [[str(info['total_bytes']), os.path.basename(trace)]],
    }


def main(folder):
    trace = f'{folder}/app.hlt'
    subprocess.run([GEN, '-n', '20000', '-o', trace], check=True, stderr=subprocess.DEVNULL)
    lines = wanted(trace)
    text = (TOP / 'docs/commands/serve.md').read_text()
    recipes = re.findall(r'^```sh recipe\n(.*?)^```', text, re.M | re.S)
    tap.case(len(recipes) >= 5, 'the document has recipes', len(recipes))
    with web.Server(HEAPLAPSE, trace) as server:
        for recipe in recipes:
            path = re.search(r"/api/([^?'\s]*)", recipe)[1]
            missing = [p for p in ('curl', 'jq', 'duckdb') if re.search(rf'^\s*{p} ', recipe, re.M) and not shutil.which(p)]
            if missing:
                tap.skipped(path, f'{missing[0]} is not installed')
                continue
            done = subprocess.run(['sh', '-ec', recipe.replace('127.0.0.1:7777', f'127.0.0.1:{server.port}')], cwd=folder,
                                  env=dict(web.ENV, TOKEN=server.token), capture_output=True, text=True, timeout=web.TIMEOUT)
            found = [line.split('\t') for line in done.stdout.splitlines()]
            if path in lines:
                tap.case(found == lines[path] and found, path, (found[:3], lines[path][:3], done.stderr))
            else:
                tap.case(done.returncode == 0 and found, path, (done.stdout, done.stderr))
    tap.finish()


with tempfile.TemporaryDirectory(prefix='heaplapse-recipes-') as name:
    main(name)
