# SPDX-License-Identifier: Apache-2.0
"""symbolizers - shared code of the symbol tests: runs tests/cli/symbolize and counts failures."""
import os, shutil, subprocess, sys

failures = 0

def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print('FAILED:', what)

def failures_so_far():
    return failures

def done():
    sys.exit(failures != 0)

def skip(why):
    print('SKIPPED:', why)

def run(*args, **kw):
    return subprocess.run(args, check=True, capture_output=True, text=True, **kw).stdout

def symbolize_offsets(symbolize, options, path, offsets, build_id='*', env=None, **kw):
    """(note, [[(function, file name, line, inlined)]]) for the offsets"""
    text = ''.join(f'{o:x}\n' for o in offsets)
    out = subprocess.run([symbolize, *options, path, build_id], input=text, capture_output=True, text=True, check=True,
                         env=dict(os.environ, **(env or {})), **kw).stdout
    if '--cache' in options:
        rest, _, note = out[:-1].rpartition('\n')
        rest += '\n'
    else:
        note, _, rest = out.partition('\n')
    parsed, frames = [], []
    for line in rest.split('\n')[:-1]:
        if line:
            f, file, number, inlined = line.rsplit('|', 3)
            frames.append((f, os.path.basename(file), int(number), inlined == '1'))
        else:
            parsed.append(frames)
            frames = []
    assert len(parsed) == len(offsets), out[-300:]
    return note, parsed

def text_range(path):
    for line in run('readelf', '-SW', path).splitlines():
        parts = line.replace('[ ', '[').split()
        if len(parts) > 5 and parts[1] == '.text':
            return int(parts[3], 16), int(parts[5], 16)

def build_id(path):
    for line in run('readelf', '-n', path).splitlines():
        if 'Build ID:' in line:
            return line.split()[-1]

def offsets_of(path, step=7):
    lo, size = text_range(path)
    return list(range(lo + 1, lo + size, step))
