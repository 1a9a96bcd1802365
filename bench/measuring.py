# SPDX-License-Identifier: Apache-2.0
"""measuring - shared code of the benchmarks: runs commands, measures their cost, formats tables."""
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 3600  # a command that takes longer is assumed to hang


class Failed(Exception):
    """Ends the benchmark; the text is one sentence for the user."""


def say(text):
    print('bench: %s' % text, file=sys.stderr, flush=True)


def first_line(path, start=''):
    """The first line of a file that begins with `start`, or an empty string."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return next((line.strip() for line in file if line.startswith(start)), '')
    except OSError:
        return ''


def run_limited(command, out, env, folder, limit_s, memory):
    """Returns the exit status of the command. After limit_s the command and all its descendants are killed."""
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    with subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env, cwd=folder,
                          start_new_session=True, preexec_fn=limit) as child:
        try:
            return child.wait(limit_s)
        except BaseException as why:
            os.killpg(child.pid, signal.SIGKILL)
            if isinstance(why, subprocess.TimeoutExpired):
                raise Failed('has not ended after %d s' % limit_s) from None
            raise


def measure(build, folder, command, env=None, variables=None, cwd=None, limit_s=LIMIT_S, memory=0):
    """Runs command under build/bench/measure. Returns its figures as a dictionary; 'output' is the
    text that it printed on both streams. The variables are set for the command only. A command that
    fails raises Failed."""
    result = os.path.join(folder, 'measured.json')
    log = os.path.join(folder, 'output')
    settings = ['%s=%s' % pair for pair in (variables or {}).items()]
    with open(log, 'wb') as out:
        status = run_limited([os.path.join(build, 'bench', 'measure'), result] + settings + command,
                             out, env, cwd, limit_s, memory)
    with open(log, encoding='utf-8', errors='replace') as file:
        output = file.read()
    if status:
        raise Failed('%s could not be measured: %s' % (command[0], output.strip()))
    with open(result, encoding='utf-8') as file:
        figures = json.load(file)
    if figures['status']:
        raise Failed('%s ended with status %d: %s' %
                     (' '.join(command), figures['status'], output.strip()[-2000:]))
    figures['output'] = output
    return figures


def info(build, trace):
    """The parsed output of `heaplapse info --json`."""
    out = subprocess.run([os.path.join(build, 'heaplapse'), 'info', '--json', trace], check=False,
                         stdout=subprocess.PIPE)
    if out.returncode:
        raise Failed('heaplapse info cannot read the trace (above)')
    return json.loads(out.stdout)


def install(package_set):
    """Whether all packages of the set are installed now; if not, scripts/install-deps prints the reason."""
    return subprocess.run([os.path.join(ROOT, 'scripts', 'install-deps'), package_set],
                          check=False).returncode == 0


def make(build, *more):
    """Builds the default targets, as `make` does, and the targets in `more`."""
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        if subprocess.run(['meson', 'setup', build, ROOT], check=False).returncode:
            raise Failed('meson cannot set up %s (above)' % build)
    done = subprocess.run(['ninja', '-C', build, 'all', *more], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failed('the build failed: %s' % done.stdout.decode(errors='replace')[-4000:])


def revision():
    """The git revision of the sources, if known."""
    try:
        done = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return ''
    return done.stdout.decode().strip()


class Machine:
    """The machine and the time. Read before any run, because only then is the load that of other processes."""

    def __init__(self):
        self.load = os.getloadavg()
        self.date = time.strftime('%Y-%m-%d %H:%M %Z')

    def disturbed(self):
        return self.load[0] > 0.5

    def lines(self):
        cpu = first_line('/proc/cpuinfo', 'model name').partition(':')[2].strip() or os.uname().machine
        yield 'date: ' + self.date
        yield 'processor: %s, %d of them' % (cpu, len(os.sched_getaffinity(0)))
        yield 'kernel: %s; %s' % (os.uname().release, os.confstr('CS_GNU_LIBC_VERSION'))
        yield 'load average before the run: %.2f %.2f %.2f%s' % (
            *self.load, ' (**others were at work: the figures are disturbed**)' * self.disturbed())
        if revision():
            yield 'heaplapse: ' + revision()


def median(values):
    return statistics.median(list(values))


def columns(rows, head, texts=1):
    """A Markdown table with aligned columns: `texts` columns of text, all others figures."""
    rows = [[str(cell) for cell in row] for row in rows]
    width = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]

    def line(row):
        cells = [c.ljust(w) if i < texts else c.rjust(w) for i, (c, w) in enumerate(zip(row, width))]
        return '| ' + ' | '.join(cells) + ' |'

    rule = '|' + ''.join('-' * (w + 2) + '|' if i < texts else '-' * (w + 1) + ':|'
                         for i, w in enumerate(width))
    return '\n'.join([line(head), rule] + [line(row) for row in rows])
