#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_test - import of truncated and forged files, decompression bombs, and bad commands.

	hostile_test.py HEAPLAPSE
"""
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

HEAPLAPSE = os.path.abspath(sys.argv[1])
MEMORY = 128 << 20
SECONDS = 10  # of CPU time, on a machine that may be busy; it takes two at most

GOOD = '''v 10400 3
X ./my app --x
I 1000 40000
s 8 /bin/app
s 4 main
s a /src/app.c
s 5 outer
s 5 inner
i 401000 1 2 3 a
t 1 0
i 401100 1 5 3 14 4 3 1e
t 2 1
a 64 2
c 5
+ 0
- 0
+ 0
c a
R 100
'''


def run(folder, *arguments):
    """(status, stderr, memory, seconds)"""
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen([HEAPLAPSE, 'import', *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return child.returncode, err.read().decode(errors='replace'), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def try_file(folder, data):
    with open(folder + '/in', 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    if os.path.exists(folder + '/out.hlt'):
        os.unlink(folder + '/out.hlt')
    return run(folder, '-o', 'out.hlt', 'in')


def totals(folder):
    done = subprocess.run([HEAPLAPSE, 'info', '--json', folder + '/out.hlt'], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def refused(folder, name, data, words):
    status, err, memory, seconds = try_file(folder, data)
    left = [f for f in os.listdir(folder) if f != 'in']
    case(status == 3 and words in err and err.count('\n') == 1 and not left and memory < MEMORY and seconds < SECONDS,
         f'{name}: {words}', f'{status} {err} {left} {memory >> 20} MiB {seconds} s')


def check_lines(folder):
    status, err, _, _ = try_file(folder, GOOD)
    info = totals(folder)
    t = info['totals']
    case(status == 0 and (t['allocations'], t['temporary'], t['live_bytes_end'], t['peak_bytes'], info['duration_ns']) ==
         (2, 1, 100, 100, 10000000) and info['command'] == ['./my', 'app', '--x'], 'a good one', f'{err} {info}')
    os.unlink(folder + '/out.hlt')
    lines = GOOD.splitlines()

    def with_line(at, line):
        return '\n'.join(lines[:at] + [line] + lines[at:]) + '\n'
    end = len(lines)
    for name, line, words in (
            ('a kind that does not exist', '+ 1', 'line 20: kind 1 does not exist'),
            ('a freed kind that does not exist', '- ff', 'line 20: kind ff does not exist'),
            ('a huge kind', '+ ffffffffffffffff', 'does not exist'),
            ('a number of 68 bits', '+ fffffffffffffffff', 'not a hexadecimal number'),
            ('no number', '+ ', 'not a hexadecimal number'), ('upper case', '+ A', 'not a hexadecimal number'),
            ('a stack that calls itself', 't 1 3', 'stack 3 is called by stack 3, which does not come before it'),
            ('a caller that comes later', 't 1 9', 'does not come before it'),
            ('a place that is not there', 't 3 1', 'instruction pointer 3 does not exist'),
            ('a stack that does not exist', 'a 10 7', 'stack 7 does not exist'),
            ('a string that does not exist', 'i 1 1 9', 'string 9 does not exist'),
            ('a module that is not there', 'i 1 99', 'string 99 does not exist'),
            ('half a frame', 'i 1 1 2 3', 'a line is not a hexadecimal number'),
            ('a string that is too short', 's 10 abc', 'a string of 16 bytes, of which 3 are present'),
            ('a raw one', 'm 1 x 400000', 'a raw recording'), ('a raw event', '+ 0 2 7f00', 'a raw recording'),
            ('an unknown line', 'z 1', 'unknown kind of line'), ('a second version', 'v 10400 3', 'a second version'),
            ('pages of no size', 'I 0 1', 'no size of pages'), ('too many pages', 'R ffffffffffffffff', 'number of pages')):
        refused(folder, name, with_line(end, line), words)
    refused(folder, 'a block freed twice', GOOD + '- 0\n- 0\n', 'line 21: a block is freed that is not live')
    refused(folder, 'more bytes than there can be', GOOD + 'a 7fffffffffffffff 1\n' + '+ 1\n' * 2, 'line 21: more bytes are allocated')
    refused(folder, 'format 4', GOOD.replace('v 10400 3', 'v 20000 4'), 'line 1: file format 4 is newer than 3')
    refused(folder, 'format 0', GOOD.replace('v 10400 3', 'v 10000'), 'file format 0')
    refused(folder, 'empty', b'', 'it is empty')
    refused(folder, 'a long line', GOOD + 's 200000 ' + 'x' * (2 << 20), 'line 20: is longer than 1 MiB')
    refused(folder, 'a trace', b'\x89HLT\r\n\x1a\n' + bytes(100), 'a trace already')
    refused(folder, 'damaged gzip', gzip.compress(GOOD.encode())[:12] + b'\xff' * 200, 'cannot be decompressed')


def check_cut(folder):
    """The part before the cut is imported, with a message."""
    body = GOOD + ''.join(f'c {i:x}\n+ 0\n' for i in range(16, 20000))
    for name, data in (('plain', body[:-1].encode()), ('gzip', gzip.compress(body.encode())[:-400])):
        status, err, _, _ = try_file(folder, data)
        info = totals(folder)
        case(status == 0 and 'is truncated' in err and not info['complete'] and info['end']['kind'] == 'lost' and
             10000 < info['totals']['allocations'] < 19987, f'cut off, {name}', f'{status} {err} {info}')
    os.unlink(folder + '/out.hlt')


def check_many(folder):
    """Millions of live blocks in a few kilobytes are not a bomb: real programs do this."""
    body = GOOD + 'a 20 1\n' + '+ 0\n+ 1\n' * 1500000 + '- 1\n- 0\n' * 1000
    status, err, memory, _ = try_file(folder, gzip.compress(body.encode()))
    t = totals(folder)['totals'] if status == 0 else {}
    case(status == 0 and memory < MEMORY and (t['allocations'], t['live_blocks_end'], t['live_bytes_end'], t['temporary']) ==
         (3000002, 2998001, 1499001 * 100 + 1499000 * 32, 2), 'millions of live blocks', f'{status} {err} {memory >> 20} MiB {t}')
    os.unlink(folder + '/out.hlt')


def check_bombs(folder):
    def gz(chunk, times, first=GOOD.encode()):
        """Compresses in pieces: the memory of this process would count as that of its children."""
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode='wb') as f:
            f.write(first)
            many = max(1, (1 << 20) // len(chunk))
            for _ in range(times // many):
                f.write(chunk * many)
        return out.getvalue()
    many = 400 << 20
    bombs = {
        'comments': gz(b'#' * 999 + b'\n', many // 1000), 'empty lines': gz(b'\n' * 1000, many // 1000),
        'strings': gz(b's 80 ' + b'x' * 128 + b'\n', (100 << 20) // 134), 'empty strings': gz(b's 0 \n', 30 << 20),
        'stacks': gz(b't 1 1\n', 20 << 20), 'kinds': gz(b'a 10 1\n', 20 << 20), 'places': gz(b'i 1 1\n', 10 << 20),
        'live blocks': gz(b'+ 0\n', 40 << 20),
    }
    for name, data in bombs.items():
        status, err, memory, seconds = try_file(folder, data)
        case(status in (0, 3) and memory < MEMORY and seconds < SECONDS and (status == 0 or re.search('MiB|more stacks', err)),
             f'a bomb of {name}, {len(data)} bytes: {memory >> 20} MiB, {seconds:.1f} s, {status}', err)
    pprof = gz(b'\x32\x00', 60 << 20, b'')
    status, err, memory, seconds = try_file(folder, pprof)
    case(status == 3 and memory < MEMORY and seconds < SECONDS, f'a profile of empty strings: {memory >> 20} MiB, {seconds:.1f} s', err)
    deep = GOOD.encode() + b''.join(b't 1 %x\n' % i for i in range(2, 300000)) + b'a 8 493df\n+ 1\n'
    status, err, memory, seconds = try_file(folder, deep)
    shown = subprocess.run([HEAPLAPSE, 'report', 'out.hlt'], cwd=folder, capture_output=True, text=True, timeout=300)
    case(status == 0 and shown.returncode == 0, 'a stack of 300,000 frames is imported and shown', err + shown.stderr)


def check_command(folder):
    with open(folder + '/r.zst', 'w') as f:
        f.write(GOOD)
    os.mkfifo(folder + '/pipe')
    for name, arguments, status, words in (
            ('no file', [], 2, 'which file?'), ('two files', ['a', 'b'], 2, 'takes one file'),
            ('a file that is not there', ['nothere'], 3, 'cannot be read'), ('a folder', ['.'], 3, 'cannot be read'),
            ('a folder that is not there', ['-o', 'no/where.hlt', 'r.zst'], 3, 'cannot write the trace to no/where.hlt'),
            ('the file that is read', ['-f', '-o', 'r.zst', 'r.zst'], 3, 'is the input file'),
            ('a pipe', ['-f', '-o', 'pipe', 'r.zst'], 3, 'not a regular file'),
            ('an empty name', ['-o', '', 'r.zst'], 2, 'the name of a file'), ('an unknown option', ['--x', 'r.zst'], 2, '--x')):
        got, err, _, _ = run(folder, *arguments)
        case(got == status and words in err, name, f'{got} {err}')
    got, err, _, _ = run(folder, 'r.zst')
    case(got == 0 and os.path.exists(folder + '/r.hlt') and '3 events of heaptrack 1.4.0' in err, 'the name of the trace', err)
    with open(folder + '/r.hlt', 'w') as f:
        f.write('mine')
    got, err, _, _ = run(folder, 'r.zst')
    case(got == 3 and 'not overwritten' in err and open(folder + '/r.hlt').read() == 'mine', 'what exists stays', err)
    got, err, _, _ = run(folder, '-q', '-f', 'r.zst')
    case(got == 0 and err == '' and os.path.getsize(folder + '/r.hlt') > 500, '-f replaces it, -q says nothing', err)
    small = subprocess.run(['sh', '-c', f'ulimit -f 0; trap "" XFSZ; exec "{HEAPLAPSE}" import -o full.hlt r.zst'], cwd=folder,
                           capture_output=True, text=True)
    case(small.returncode == 3 and 'cannot be written' in small.stderr and not os.path.exists(folder + '/full.hlt'),
         'a full disk leaves nothing', f'{small.returncode} {small.stderr}')
    left = sorted(os.listdir(folder))
    case(left == ['pipe', 'r.hlt', 'r.zst'], 'nothing else is left', left)


def main():
    for check in check_lines, check_cut, check_many, check_bombs, check_command:
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
    finish()


if __name__ == '__main__':
    main()
