# SPDX-License-Identifier: Apache-2.0
"""soak - shared code of the tests that compare bare and recorded runs."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..'))
import tap  # noqa: E402,F401

Done = collections.namedtuple('Done', 'status out err')


def clean_env(**more):
    """The caller's environment without variables that would change a run."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('HEAPLAPSE_', 'LD_', 'MALLOC_', 'PYTHON'))}
    return {**env, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'HEAPLAPSE_CACHE': 'off', **more}


class Side:
    """One of the two ways to run a command: bare or recorded."""

    def __init__(self, name, heaplapse=None, library=None, seconds=600):
        """Recorded by `heaplapse record`, by LD_PRELOAD alone with `library`, or bare."""
        self.name, self.heaplapse, self.library, self.seconds = name, heaplapse, library, seconds
        self.traces = 0     # traces written: a comparison is void if nothing was recorded

    def command(self, command, traces):
        if not self.heaplapse:
            return command
        # a pattern with %p: each process needs a trace name of its own
        return [self.heaplapse, 'record', '-q', '-o', os.path.join(traces, '%p.hlt'), '--', *command]

    def preloaded(self, env, traces):
        if not self.library:
            return env
        preload = ':'.join(filter(None, (self.library, env.get('LD_PRELOAD'))))
        return {**env, 'LD_PRELOAD': preload, 'HEAPLAPSE_OUTPUT': os.path.join(traces, '%p.hlt')}

    def run(self, command, cwd, env, text=''):
        """Returns a Done; its status says if the command did not end in time."""
        with tempfile.TemporaryDirectory(prefix='heaplapse-soak-', ignore_cleanup_errors=True) as traces:
            process = subprocess.Popen(self.command(command, traces), cwd=cwd, env=self.preloaded(env, traces),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       errors='surrogateescape')
            status = f'not over after {self.seconds} s'
            try:
                out, err = process.communicate(text, self.seconds)
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
            self.traces += len(os.listdir(traces))
            return Done(status, out, err)


class Table:
    """Prints rows of program, cases, same, different, each as soon as it is known."""

    def __init__(self):
        self.rows = []

    def add(self, program, cases, same, different, note=''):
        if not self.rows:
            self.line('program', 'cases', 'same', 'different')
        self.rows.append((cases, same, different))
        self.line(program, cases, same, different, note)

    def finish(self):
        self.line('all', *map(sum, zip(*self.rows)))

    @staticmethod
    def line(program, cases=0, same=0, different=0, note=''):
        print(f'# {program:28} {cases:>6} {same:>6} {different:>9}  {note}'.rstrip(), flush=True)


def is_installed(program):
    return shutil.which(program) is not None
