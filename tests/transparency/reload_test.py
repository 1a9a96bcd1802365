#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""reload_test - libraries that are loaded one after the other at the same addresses are not confused."""
import os

from transparency import HERE, Failure, compiled, expect, expect_lossless, main

ALPHA, BETA, EACH = 8101, 8202, 10


def build():
    source = os.path.join(HERE, 'programs', 'plugin.c')
    for name, frame, size in (('alpha', 64, ALPHA), ('beta', 512, BETA)):
        compiled('gcc', '-O1', '-g', '-fPIC', '-shared', '-fno-builtin', '-fomit-frame-pointer', f'-DWHO={name}',
                 f'-DFRAME={frame}', f'-DSIZE={size}', '-o', f'{name}.so', source)
    compiled('gcc', '-O1', '-fPIC', '-shared', '-D_GNU_SOURCE', '-o', 'slow_dlclose.so',
             os.path.join(HERE, 'programs', 'slow_dlclose.c'))


def paths(nodes):
    """Every path from the outermost frame to a function *_inner: (names, blocks, bytes)."""
    above = []
    for node in nodes:
        above.append((*(() if node['parent'] is None else above[node['parent']]), node['function']))
        if node['function'].endswith('_inner'):
            yield above[-1], node['blocks'], node['bytes']


def check(place, mode, slow, times):
    preload = os.path.abspath('slow_dlclose.so') if slow else ''
    command = [place.program('reload'), os.path.abspath('alpha.so'), os.path.abspath('beta.so'), times]
    if mode == 'bare':
        env = place.bare_env()
        env['LD_PRELOAD'] += ':' + preload if slow else ''
        done = place.run(*command, env=env)
    else:
        done = place.record(*command, env={**os.environ, **({'LD_PRELOAD': preload} if slow else {})})
    expect('status and stderr', (done.status, done.err), (0, ''))
    if int(done.out) < times // 2:
        raise Failure(f'beta stood in the place of alpha only {done.out.strip()} times of {times}')
    expect_lossless(place.info())
    trace = place.traces()[0]
    report = place.heaplapse.report(trace, '--allocated')
    found = {}
    for names, blocks, size in paths(report['nodes']):
        caller = {'alpha_inner': 'main', 'beta_inner': 'second'}[names[-1]]
        if names[-3:-1] != ('load_and_run', 'plugin_run') or caller not in names:
            raise Failure(f'a stack that was never there: {names}')
        old = found.get(names[-1], (0, 0))
        found[names[-1]] = (old[0] + blocks, old[1] + size)
    expect('blocks and bytes', found, {'alpha_inner': (times * EACH, times * EACH * ALPHA),
                                       'beta_inner': (times * EACH, times * EACH * BETA)})
    os.unlink(trace)


def test_reload(place):
    """one library after the other at the same address"""
    build()
    for mode in ('record', 'bare'):
        check(place, mode, False, 40)


def test_reload_inside(place):
    """the second is loaded before the dlclose() of the first returns"""
    build()
    for mode in ('record', 'bare'):
        check(place, mode, True, 40)


main(globals())
