#!/usr/bin/python3
"""installed_test - command and library find each other where they are installed."""
import os
import shutil

from manners import expect, main, sound


def test_installed(place):
    """in bin/ and lib/, lib/x86_64-linux-gnu/, lib64/, or in one folder; in both modes"""
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
            sound(info, end=('exit', 4))
            os.unlink(name)
        shutil.rmtree('top')


if __name__ == '__main__':
    main(globals())
