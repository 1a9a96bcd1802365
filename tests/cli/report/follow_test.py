#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""follow_test - report --follow and log --follow: answers are states of a program that grows by known steps, the last
one is that of report, nothing is dropped, and what cannot be followed is refused.

	follow_test.py HEAPLAPSE STEPS

Nothing here depends on how long an answer takes: a step is made when the one before was seen.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import views  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, steps = map(os.path.abspath, sys.argv[1:3])
BLOCKS, BYTES = 100, 1000
# The array of pointers is a block of its own.
STEP_BYTES, STEP_BLOCKS = BLOCKS * (BYTES + 8), BLOCKS + 1
DEADLINE = 120
ENV = dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='100')


def run(*arguments):
    return subprocess.run([heaplapse, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, env=ENV)


class Program:
    """The recorded program, which makes a step for each line."""

    def __init__(self, trace, *options):
        self.trace = trace
        self.steps = 0
        self.process = subprocess.Popen([heaplapse, 'record', '-q', '-o', trace, *options, steps, str(BLOCKS), str(BYTES)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def step(self, text='\n'):
        self.process.stdin.write(text)
        self.process.stdin.flush()
        self.steps = int(self.process.stdout.readline())

    def exec(self):
        self.process.stdin.write('e')
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(DEADLINE)


class Follower:
    """A command with --follow, whose lines are read as they come."""

    def __init__(self, *arguments):
        self.lines = []
        self.ended = False
        self.changed = threading.Condition()
        self.process = subprocess.Popen([heaplapse, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=ENV)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, found):
        """Until a line fulfils the condition. False: the command ended before."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or any(map(found, self.lines)), DEADLINE)
            return any(map(found, self.lines))

    def end(self):
        self.thread.join(DEADLINE)
        err = self.process.stderr.read()
        return self.process.wait(DEADLINE), err


def total(line):
    return json.loads(line)['total_bytes']


def wait_for_file(program):
    """Until the trace has the program's first events."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        done = run('info', '--json', program.trace) if os.path.exists(program.trace) else None
        if done and done.returncode == 0 and json.loads(done.stdout)['totals']['allocations']:
            return
        time.sleep(0.05)


def follow_steps(folder, mode, *asked):
    """Each step is seen before the next one is made."""
    name = f'{mode} {" ".join(asked)}'
    program = Program(f'{folder}/steps.{mode}.hlt', f'--mode={mode}')
    program.step()
    wait_for_file(program)
    follower = Follower('report', '--follow', '--json', *asked, program.trace)
    seen = all_seen = follower.wait(lambda line: total(line) >= STEP_BYTES)
    base = total(follower.lines[-1]) - STEP_BYTES if seen else 0
    for _ in range(3):
        program.step()
        wanted = base + program.steps * STEP_BYTES
        all_seen &= follower.wait(lambda line: total(line) == wanted)  # pylint: disable=cell-var-from-loop
    program_status = program.end()
    status, err = follower.end()
    values = [total(line) for line in follower.lines]
    alone = run('report', '--json', *asked, program.trace)
    case(all_seen, f'{name}: each step is shown while the program waits', f'{values}, from {base}\n{err}')
    case(values == sorted(values) and values[-1] <= base + program.steps * STEP_BYTES,
         f'{name}: no answer is of another state', values)
    case(program_status == 0 and status == 0 and alone.returncode == 0 and follower.lines[-1] == alone.stdout,
         f'{name}: the last answer is that of report', f'{status} {err}\n{follower.lines[-1]}\n{alone.stdout}')
    info = json.loads(run('info', '--json', program.trace).stdout)
    case(info['totals']['dropped_events'] == 0 and not info['damage'], f'{name}: nothing is dropped', info)
    os.rename(program.trace, f'{folder}/finished.hlt')
    return f'{folder}/finished.hlt'


def every_view(folder):
    """A trace that grows from answer to answer, in every view."""
    for option in views.options():
        trace = f'{folder}/views.hlt'
        program = Program(trace)
        program.step()
        wait_for_file(program)
        follower = Follower('report', '--follow', '--json', option, trace)
        shown = follower.wait(lambda line: line.startswith('{'))
        program.step()
        program.step('x')
        program.end()
        status, err = follower.end()
        alone = run('report', '--json', option, trace)
        last = follower.lines[-1] if follower.lines else ''
        case((shown or alone.returncode) and status == alone.returncode and last == alone.stdout, f'{option}: as report',
             f'{status} {err}\n{last}\n{alone.returncode} {alone.stdout}')
        os.remove(trace)


def text_answers(folder):
    """In a pipe the answers follow one another, each with a heading."""
    trace = f'{folder}/text.hlt'
    program = Program(trace)
    program.step()
    wait_for_file(program)
    follower = Follower('report', '--follow', '--leaks', trace)
    follower.wait(lambda line: line.startswith('=== still running'))
    program.step()
    program.end()
    status, err = follower.end()
    text = ''.join(follower.lines)
    parts = re.split(r'^=== .*\n', text, flags=re.M)
    headings = re.findall(r'^=== .*', text, flags=re.M)
    case(status == 0 and headings[0].startswith('=== still running, after ')
         and headings[-1].startswith('=== final answer, after '), 'headings', f'{headings}\n{err}')
    case(parts[-1] == run('report', '--leaks', trace).stdout, 'the last answer as text', text)
    case(err.count('still being written') == 1, 'a warning is printed once', err)
    done = run('report', '--follow', '--leaks', trace)
    case(done.returncode == 0 and done.stdout.split('\n', 1)[1] == parts[-1], 'a finished trace is answered once', done.stdout)
    case('\033' not in text, 'no control characters in a pipe')


def interrupted(folder):
    """Ctrl-C ends it with status 0, and what was printed is whole."""
    trace = f'{folder}/interrupted.hlt'
    program = Program(trace)
    program.step()
    wait_for_file(program)
    for command in ('report', 'log'):
        follower = Follower(command, '--follow', *(['--json'] if command == 'report' else []), trace)
        if command == 'report':
            follower.wait(lambda line: line.startswith('{'))
        else:
            time.sleep(1)  # it prints nothing yet; an earlier signal would end it with status 130
        follower.process.send_signal(signal.SIGINT)
        status, err = follower.end()
        case(status == 0 and all(line.endswith('}\n') for line in follower.lines), f'Ctrl-C ends {command} --follow',
             f'{status} {err} {follower.lines}')
    program.end()


def gone(folder):
    """A trace that is deleted or truncated while it is followed."""
    for what in ('deleted', 'truncated'):
        trace = f'{folder}/{what}.hlt'
        program = Program(trace)
        program.step()
        wait_for_file(program)
        follower = Follower('report', '--follow', '--json', '--leaks', trace)
        follower.wait(lambda line: line.startswith('{'))
        if what == 'deleted':
            os.remove(trace)
        else:
            os.truncate(trace, 100)
        status, err = follower.end()
        case(status == 3 and what in err and 'open it again' in err, f'a trace that is {what}', f'{status} {err}')
        program.end()


def rotated(folder):
    """ctl PID rotate: the follower goes on with the next file."""
    trace = f'{folder}/rotated.hlt'
    program = Program(trace)
    program.step()
    wait_for_file(program)
    follower = Follower('report', '--follow', '--json', '--leaks', trace)
    base = total(follower.lines[0]) - STEP_BYTES if follower.wait(lambda line: line.startswith('{')) else 0
    done = run('ctl', '--json', program.process.pid, 'rotate')
    program.step()
    wanted = base + 2 * STEP_BYTES
    seen = follower.wait(lambda line: total(line) == wanted)
    program.end()
    status, err = follower.end()
    after = json.loads(done.stdout)['file']
    case(done.returncode == 0 and seen and status == 0, 'a rotated trace: the next file is followed',
         f'{done} {status} {err}\n{follower.lines}')
    case('was closed by ctl rotate: following ' + after in err, 'a rotated trace: it is said', f'{after}\n{err}')
    case(follower.lines[-1] == run('report', '--json', '--leaks', after).stdout, 'a rotated trace: the last answer')
    program = Program(f'{folder}/exec.hlt')
    program.step()
    wait_for_file(program)
    follower = Follower('report', '--follow', '--json', '--leaks', program.trace)
    follower.wait(lambda line: line.startswith('{'))
    program.exec()
    program.step()
    program.step()
    program.end()
    status, err = follower.end()
    case(status == 0 and 'ends by exec: following ' in err and total(follower.lines[-1]) == wanted,
         'a program that calls exec', f'{status} {err} {follower.lines[-1]}')


def log_of_snapshots(folder):
    """log --follow prints a snapshot while the program waits."""
    trace = f'{folder}/log.hlt'
    program = Program(trace)
    program.step()
    wait_for_file(program)
    follower = Follower('log', '--follow', trace)
    seen = True
    for label in ('one', 'two'):
        program.step()
        done = run('ctl', program.process.pid, 'snapshot', label)
        seen &= done.returncode == 0 and follower.wait(lambda line: f'"{label}"' in line)  # pylint: disable=cell-var-from-loop
    program.end()
    status, err = follower.end()
    case(seen and status == 0 and ''.join(follower.lines) == run('log', trace).stdout, 'log --follow shows each snapshot',
         f'{status} {err}\n{"".join(follower.lines)}')


def refused(folder, trace):
    other = f'{folder}/other.hlt'
    shutil.copy(trace, other)
    for arguments, text in (((trace, other), 'takes one trace'), (('--explain', trace), '--explain'),
                            (('--all', trace), '--process'), (('--group=process', trace), '--group process')):
        done = run('report', '--follow', *arguments)
        case(done.returncode == 2 and text in done.stderr and not done.stdout, f'refused: {" ".join(arguments[:1])}',
             f'{done.returncode} {done.stderr}')


with tempfile.TemporaryDirectory() as place:
    finished = follow_steps(place, 'trace', '--leaks', '--no-default-suppressions')
    follow_steps(place, 'trace', '--allocated', '--sites', '--filter=size:>=0')
    follow_steps(place, 'count', '--leaks', '--no-default-suppressions')
    follow_steps(place, 'cull', '--leaks', '--no-default-suppressions')
    every_view(place)
    text_answers(place)
    interrupted(place)
    gone(place)
    rotated(place)
    log_of_snapshots(place)
    refused(place, finished)
finish()
