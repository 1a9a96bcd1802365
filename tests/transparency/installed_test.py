#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""installed_test - command and library find each other where they are installed."""
import os
import re
import shutil

from transparency import expect, expect_lossless, main


def test_installed(place):
    """in bin/ and lib/, lib/x86_64-linux-gnu/, lib64/, or in one directory; in both modes"""
    for lib in ('lib', 'lib/x86_64-linux-gnu', 'lib64', 'bin'):
        os.makedirs('top/bin', exist_ok=True)
        os.makedirs(f'top/{lib}', exist_ok=True)
        binary = shutil.copy(place.binary, 'top/bin/heaplapse')
        library = shutil.copy(place.library, f'top/{lib}/libheaplapse.so')
        done = place.run(os.path.abspath(binary), 'record', '-q', '-o', 'x.hlt', '--', place.program('ending'), 'exit:4')
        expect(f'{lib}: record', (done.status, done.err), (4, ''))
        done = place.run(place.program('ending'), 'exit:4', env={
            **os.environ, 'LD_PRELOAD': os.path.abspath(library), 'HEAPLAPSE_OUTPUT': 'y.hlt'})
        expect(f'{lib}: bare', (done.status, done.err), (4, ''))
        for name, info in place.infos(2, '?.hlt').items():
            expect_lossless(info, end=('exit', 4))
            os.unlink(name)
        shutil.rmtree('top')


def test_documents(place):
    """files that the help refers to as share/doc/heaplapse are installed"""
    root = os.path.abspath('root')
    build = os.path.dirname(place.binary)
    done = place.run('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', root)
    expect('meson install', done.status, 0)
    found = {name for folder, _, names in os.walk(root) for name in names if folder.endswith('/share/doc/heaplapse')}
    named = set()
    for command in (), ('report',), ('dump',):
        text = place.run(place.binary, 'help', *command).out
        named |= set(re.findall(r'([\w-]+\.md)\s+in\s+share/doc/heaplapse', text))
    expect('named and installed', sorted(named - found), [])
    expect('documents', sorted(found), ['export-json.md', 'export-json.schema.json', 'export-parquet.md', 'formats.md', 'http-api.md', 'json.md', 'numbers.md',
                                             'promises.md', 'replay-format.md', 'trace-format.md', 'tutorial.md'])
    replay = [f'{folder}/heaplapse-replay' for folder, _, names in os.walk(root) if 'heaplapse-replay' in names]
    expect('heaplapse-replay', [place.run(path, '--version').status for path in replay], [0])
    shutil.rmtree(root)


if __name__ == '__main__':
    main(globals())
