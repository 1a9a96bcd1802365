#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dist_test - web/dist is what its sources make, to the byte; types, lint and unit tests of the page pass; it stays
small."""
import gzip
import os
import pathlib
import shutil
import subprocess

import browser
import npm_packages
import tap

BYTES_MAX = 100_000 # packed, of all files together
WEB = browser.TOP / 'web'
FILES = ('app.css', 'app.js', 'index.html')


def run(folder, *args):
    path = pathlib.Path(npm_packages.node_program(folder)).parent
    env = dict(os.environ, PATH=f'{path}:{os.environ["PATH"]}') if path.is_absolute() else None
    return subprocess.run(args, cwd=folder, env=env, capture_output=True, text=True, timeout=200)


def passes(what, done):
    tap.case(done.returncode == 0, what, done.stdout[-3000:] + done.stderr[-3000:])


def main(folder):
    """The sources are copied beside the packages."""
    for name in ('src', 'tests', 'made'):
        shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(WEB / 'src', folder / 'src')
    for name in ('build.mjs', 'tsconfig.json', 'biome.json'):
        shutil.copy(WEB / name, folder / name)
    programs = folder / 'node_modules/.bin'
    passes('types', run(folder, programs / 'tsc'))
    passes('lint and layout', run(folder, programs / 'biome', 'ci', '--colors=off', '.'))
    passes('unit tests are bundled', run(folder, 'node', 'build.mjs', '--tests', 'tests'))
    # Releases of node differ in the meaning of a directory.
    tests = sorted(str(path.relative_to(folder)) for path in (folder / 'tests').rglob('*.mjs'))
    tap.case(len(tests) > 10, 'there are unit tests', tests)
    passes('unit tests', run(folder, 'node', '--test', *tests))
    passes('the bundle', run(folder, 'node', 'build.mjs', 'made'))
    for name in FILES:
        same = (folder / 'made' / name).read_bytes() == (WEB / 'dist' / name).read_bytes()
        tap.case(same, f'web/dist/{name} is what the sources make', 'run web/build, and commit web/dist')
    tap.case(sorted(os.listdir(WEB / 'dist')) == sorted(FILES), 'web/dist has no other file', os.listdir(WEB / 'dist'))
    packed = sum(len(gzip.compress((WEB / 'dist' / name).read_bytes(), 9)) for name in FILES)
    tap.case(packed <= BYTES_MAX, f'{packed} bytes packed, at most {BYTES_MAX}')
    tap.finish()


reason = browser.why_not_packages()
if reason:
    tap.skipped('web/dist', reason)
    tap.finish()
main(pathlib.Path(browser.programs['npm']))
