#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cache_test - the symbol cache on disk: the same results with and without it, also when the files
were deleted, and never stale ones."""
import os, sys, tempfile, shutil
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbolizers import *

symbolize, subjects = sys.argv[1], [os.path.abspath(p) for p in sys.argv[2:]]

def same_answers(subject, tmp):
    program, cache = f'{tmp}/program', f'{tmp}/c/sym'
    shutil.copy(subject, program)
    id, offsets = build_id(program), offsets_of(program)
    note, plain = symbolize_offsets(symbolize, [], program, offsets, id)
    check(note == '', f'{subject}: {note!r}')
    first = symbolize_offsets(symbolize, ['--cache', cache], program, offsets[::2], id)[1]
    check(first == plain[::2], f'{subject}: first with a cache')
    check(os.listdir(cache) == [id], f'files in the cache: {os.listdir(cache)}')
    second = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)[1]
    check(second == plain, f'{subject}: half from the cache')
    os.unlink(program)
    note, third = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)
    check(third == plain and note == '', f'{subject}: all from the cache, note {note!r}')
    short = symbolize_offsets(symbolize, ['--cache', cache, '--short'], program, offsets, id)[1]
    check(len(short) == len(plain) and all(len(a) == len(b) for a, b in zip(short, plain)), f'{subject}: short names')
    # Another build-id must not get these results.
    other = ('01' if id.startswith('00') else '00') + id[2:]
    shutil.copy(f'{cache}/{id}', f'{cache}/{other}')
    check(not any(symbolize_offsets(symbolize, ['--cache', cache], program, offsets, other)[1]), 'a file of another id was believed')

def not_stale(subject, tmp):
    """Names without line numbers are replaced once debug information is available."""
    program, cache = f'{tmp}/program', f'{tmp}/c/sym'
    run('objcopy', '--strip-debug', subject, program)
    id, offsets = build_id(subject), offsets_of(subject)
    note, poor = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)
    check('no debug information' in note and os.path.exists(f'{cache}/{id}'), f'stripped: {note!r}')
    note, again = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)
    check('no debug information' in note and again == poor, f'stripped, from the cache: {note!r}')
    shutil.copy(subject, program)
    note, rich = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)
    check(note == '' and rich == symbolize_offsets(symbolize, [], subject, offsets, id)[1], f'debug information came: {note!r}')
    # And the better results are kept when it is removed again.
    run('objcopy', '--strip-debug', subject, program)
    note, kept = symbolize_offsets(symbolize, ['--cache', cache], program, offsets, id)
    check(note == '' and kept == rich, f'debug information went: {note!r}')

def no_cache(subject, tmp):
    """An unusable cache has no effect on results."""
    offsets = offsets_of(subject, 50)
    plain = symbolize_offsets(symbolize, [], subject, offsets)[1]
    open(f'{tmp}/file', 'w').close()
    for where in (f'{tmp}/file', f'{tmp}/file/below', '/proc/nowhere', '/dev/null/x'):
        check(symbolize_offsets(symbolize, ['--cache', where], subject, offsets)[1] == plain, f'cache in {where}')
    # Without a build-id nothing is cached.
    run('objcopy', '--remove-section', '.note.gnu.build-id', subject, f'{tmp}/noid')
    check(any(symbolize_offsets(symbolize, ['--cache', f'{tmp}/n'], f'{tmp}/noid', offsets, '')[1]), 'no id: no names')
    check(not os.path.exists(f'{tmp}/n') or not os.listdir(f'{tmp}/n'), 'no id: something was kept')

for subject in subjects:
    for test in (same_answers, not_stale, no_cache):
        with tempfile.TemporaryDirectory() as tmp:
            test(subject, tmp)
done()
