"""soaking - what the comparisons of bare and recorded runs share."""
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
    """The caller's environment without what would change a run."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('HEAPLAPSE_', 'LD_', 'MALLOC_', 'PYTHON'))}
    return {**env, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'HEAPLAPSE_CACHE': 'off', **more}


class Side:
    """One of the two ways to run a command."""

    def __init__(self, name, heaplapse=None, seconds=600):
        self.name, self.heaplapse, self.seconds = name, heaplapse, seconds
        self.traces = 0     # that were written: a comparison with nothing recorded says nothing

    def command(self, command, traces):
        if not self.heaplapse:
            return command
        # a name for each process: the first one's would be taken by those that follow
        return [self.heaplapse, 'record', '-q', '-o', os.path.join(traces, '%p.hlt'), '--', *command]

    def run(self, command, cwd, env, text=''):
        """Done, or Done with a status that says that it did not end."""
        with tempfile.TemporaryDirectory(prefix='heaplapse-soak-', ignore_cleanup_errors=True) as traces:
            process = subprocess.Popen(self.command(command, traces), cwd=cwd, env=env, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
    """program, cases, same, different: one row each."""

    def __init__(self):
        self.rows = []

    def add(self, program, cases, same, different, note=''):
        self.rows.append((program, cases, same, different, note))

    def print(self):
        total = [sum(row[k] for row in self.rows) for k in (1, 2, 3)]
        print(f'# {"program":28} {"cases":>6} {"same":>6} {"different":>9}')
        for program, cases, same, different, note in [*self.rows, ('all', *total, '')]:
            print(f'# {program:28} {cases:6} {same:6} {different:9}  {note}'.rstrip())


def have(program):
    return shutil.which(program) is not None
