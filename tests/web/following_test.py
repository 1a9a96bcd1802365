#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""following_test - the server follows a running program while clients look at it, and only then.

	following_test.py HEAPLAPSE STEPS

In mode count the trace has a keyframe each second for a follower, and rarely one without.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import web
import tap

heaplapse, steps = map(os.path.abspath, sys.argv[1:3])
BLOCKS, BYTES = 100, 1000
DECODE = pathlib.Path(__file__).resolve().parents[2] / 'docs/decode.py'
DEADLINE = 60


class Program:
    def __init__(self, folder, *options):
        self.trace, self.log = f'{folder}/steps.hlt', f'{folder}/log'
        self.process = subprocess.Popen([heaplapse, 'record', '-q', '-f', '-o', self.trace, '--log-file', self.log, *options,
                                         steps, str(BLOCKS), str(BYTES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.steps = 0

    def step(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        self.steps = int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(DEADLINE)

    def follows(self):
        """How often a follower announced itself."""
        return pathlib.Path(self.log).read_text().count('ctl follow for process')


def wait_until(condition):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def live(server):
    answer = server.get('/api/traces/1/report?leaks&no-default-suppressions')
    return answer.json()['total_bytes'] if answer.status == 200 else -1


def sees_steps(server, program, base):
    """Each step is seen while the program waits."""
    for _ in range(2):
        program.step()
        wanted = base + program.steps * BLOCKS * (BYTES + 8)
        if not wait_until(lambda: live(server) == wanted):  # pylint: disable=cell-var-from-loop
            return False
    return True


def started(program):
    """Until the trace names the program."""
    def named():
        done = subprocess.run([heaplapse, 'info', '--json', program.trace], capture_output=True, env=web.ENV, timeout=DEADLINE)
        return done.returncode == 0 and json.loads(done.stdout)['pid']
    program.step()
    return wait_until(named)


def find_base(server, program):
    """Bytes that are not of steps, once the first step is seen."""
    wait_until(lambda: live(server) >= program.steps * BLOCKS * (BYTES + 8))
    return live(server) - program.steps * BLOCKS * (BYTES + 8)


def keyframes(program):
    """How many the trace has by now; decode.py is a reader of its own."""
    done = subprocess.run(['/usr/bin/python3', str(DECODE), '--info', program.trace], capture_output=True, text=True, timeout=DEADLINE)
    return sum(line.split()[2:3] == ['KEYFRAME'] for line in done.stdout.splitlines())


def many_keyframes(program, look=lambda: None):
    """Are more written than one in five seconds, the rate without a follower? The steps take five seconds or longer."""
    before, begin = keyframes(program), time.monotonic()
    for _ in range(10):
        program.step()
        look()
        time.sleep(0.5)
    n, usual = keyframes(program) - before, 1 + int((time.monotonic() - begin) / 5)
    return n > usual


def followed(folder):
    program = Program(folder, '--mode=count')
    tap.case(started(program), 'the program runs')
    tap.case(not many_keyframes(program), 'without a follower there are few keyframes')
    with web.Server(heaplapse, program.trace) as server:
        base = find_base(server, program)
        tap.case(program.follows() == 1, 'the server announces itself', program.follows())
        tap.case(sees_steps(server, program, base), 'its answers are of now')
        tap.case(many_keyframes(program, lambda: live(server)), 'the collector writes keyframes for it')
        # 5 s after the last look the connection is closed.
        time.sleep(7)
        tap.case(not many_keyframes(program), 'it is no follower when nobody looks')
        tap.case(sees_steps(server, program, base), 'it follows again when somebody looks')
        tap.case(program.follows() == 2, 'and announces itself again', program.follows())
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(DEADLINE)
        time.sleep(1.5)
        tap.case(not many_keyframes(program), 'a dead follower is forgotten')
    tap.case(program.end() == 0, 'the program ends as without a follower')


def ended(folder):
    """The collector ends while it is followed."""
    program = Program(folder, '--mode=count')
    started(program)
    with web.Server(heaplapse, program.trace) as server:
        find_base(server, program)
        program.end()
        tap.case(wait_until(lambda: not server.get('/api/traces').json()['traces'][0]['running']), 'the end is seen')
        tap.case(server.stop() == 0, 'the server ends')


def rates(folder):
    """A rate is that of the last seconds, 0 without events, and absent after the end."""
    program = Program(folder)
    started(program)

    def rate(server, name):
        lines = [l for l in server.get('/metrics').body.decode().splitlines() if l.startswith(f'heaplapse_{name}_per_second{{')]
        return float(lines[0].split()[-1]) if lines else None

    with web.Server(heaplapse, program.trace) as server:
        def seen():
            program.step()
            return (rate(server, 'allocations') or 0) > BLOCKS
        tap.case(wait_until(seen), 'allocations per second', rate(server, 'allocations'))
        tap.case(wait_until(lambda: rate(server, 'allocated_bytes') == 0 == rate(server, 'allocations')), 'an idle program has a rate of 0',
                 rate(server, 'allocations'))
        program.end()
        tap.case(wait_until(lambda: rate(server, 'frees') is None), 'a finished one has none')


with tempfile.TemporaryDirectory() as tmp:
    followed(tmp)
    ended(tmp)
    rates(tmp)
tap.finish()
