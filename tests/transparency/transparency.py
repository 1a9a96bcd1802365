# SPDX-License-Identifier: Apache-2.0
"""transparency - shared code of the tests in this directory: runs programs bare and recorded, and
finds their traces.

Each test is a file with functions named test_*; main() runs all of them, or those named on the
command line, each in a temporary directory that is the current one. The docstring of a function is
the name of the test.
"""
import argparse
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'exactness'), os.path.join(HERE, '..', '..', 'docs')]
import decode  # noqa: E402
from hltrace import Failure, Heaplapse, Results, expect  # noqa: E402

LIMIT = 60      # seconds, for any wait: ends hanging tests, also on a busy machine
PATIENCE = LIMIT * (20 if 'TRANSPARENCY_LONG' in os.environ else 1)      # for a program


class Skip(Exception):
    """Raised with the reason why a test cannot run here."""


class Done:
    """A command that has ended."""

    def __init__(self, process, out, err):
        self.pid, self.status = process.pid, process.returncode
        self.out, self.err = out, err


class Place:
    """The environment of a test: its directory, the test programs and the command."""

    def __init__(self, args):
        self.binary, self.library = args.heaplapse, args.library
        self.programs, self.include = args.programs, args.include
        self.sources = os.path.join(HERE, 'programs')
        self.heaplapse = Heaplapse(self.binary, self.library)

    def program(self, name):
        return os.path.join(self.programs, 'transparency_' + name)

    def start(self, command, **options):
        options.setdefault('stdout', subprocess.PIPE)
        options.setdefault('stderr', subprocess.PIPE)
        return subprocess.Popen(list(map(str, command)), text=True, errors='surrogateescape', **options)

    def finish(self, process, text=None, seconds=LIMIT):
        try:
            out, err = process.communicate(text, seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Failure(f'{process.args}: not over after {seconds} s; said {out[-200:]!r} {err!r}') from None
        return Done(process, out, err)

    def run(self, *command, text=None, **options):
        if text is not None:
            options['stdin'] = subprocess.PIPE
        return self.finish(self.start(command, **options), text, PATIENCE)

    def record_command(self, *command, options=('-q',)):
        return [self.binary, 'record', *options, '--', *command]

    def record(self, *command, options=('-q',), **popen):
        return self.run(*self.record_command(*command, options=options), **popen)

    def bare_env(self, **more):
        return {**os.environ, 'LD_PRELOAD': self.library, **more}

    def bare(self, *command, env=None, **popen):
        """Runs a command with LD_PRELOAD alone."""
        return self.run(*command, env=self.bare_env(**(env or {})), **popen)

    def in_mode(self, mode, *command, **popen):
        return self.bare(*command, **popen) if mode == 'bare' else self.record(*command, **popen)

    def traces(self, pattern='*.hlt'):
        """The first traces of sessions whose names match, then the other traces of these sessions,
        and traces in directories whose own names match."""
        return (sorted(filter(os.path.isfile, glob.glob(pattern))) +
                sorted({*glob.glob(f'{pattern}.d/*.hlt'), *glob.glob(f'*.hlt.d/{pattern}')}))

    def traces_of(self, program):
        """The traces of children that run this program."""
        return [name for name in self.traces() if name.endswith(f'.{program}.hlt') and '/' in name]

    def session_rows(self, first):
        """[(pid, parent, program, file)] of the list of a session (docs/trace-format.md)."""
        with open(f'{first}.d/session', encoding='utf-8', errors='surrogateescape') as file:
            header, *lines = file.read().splitlines()
        expect('first line of the session', header, 'heaplapse session 1')
        rows = [line.split('\t') for line in lines]
        expect('fields', {len(row) for row in rows}, {5})
        return [(int(pid), int(parent), program, name) for pid, parent, _, program, name in rows]

    def remove_traces(self):
        """Removes all sessions of the directory."""
        for name in self.traces():
            os.unlink(name)
        for name in glob.glob('*.hlt.d'):
            os.unlink(f'{name}/session')
            os.rmdir(name)

    def infos(self, count=None, pattern='*.hlt', seconds=LIMIT):
        """The infos of all traces in the directory, once they have an end; waits until there are
        `count` of them."""
        deadline = time.monotonic() + seconds
        while True:
            names = self.traces(pattern)
            if len(names) >= (1 if count is None else count):
                break
            if time.monotonic() > deadline:
                raise Failure(f'{len(names)} traces, should be {count}: {names}')
            time.sleep(0.02)
        infos = {name: self.ended(name, seconds) for name in names}
        if count is not None:
            expect('traces', len(infos), count)
        return infos

    def ended(self, name, seconds):
        return self.heaplapse.info_when_ended(name, seconds)

    def info(self, pattern='*.hlt'):
        return next(iter(self.infos(1, pattern).values()))

    def parents(self, trace):
        """(pid, pid of its parent), from the file itself (docs/trace-format.md, META)."""
        with open(trace, 'rb') as file:
            meta = next(chunk for chunk, _ in decode.chunks(file.read()) if chunk.type == 1)
        return tuple(meta.varints(1)[2:4])

    def unpacked(self, trace):
        """All bytes of all columns (docs/trace-format.md)."""
        with open(trace, 'rb') as file:
            return b''.join(bytes(column) for chunk, _ in decode.chunks(file.read())
                            for column in chunk.columns.values())

    def dump(self, trace):
        return self.heaplapse.run('dump', *self.heaplapse.this_file(trace), trace).splitlines()


def contains(what, text, *parts):
    for part in parts:
        if part not in text:
            raise Failure(f'{what}: {part!r} is not in {text!r}')


def wait_until(what, check, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise Failure(f'{what}: not after {seconds} s')
        time.sleep(0.005)


def size_of(name):
    """The size of a file; 0 while it does not exist. A trace under its final name is never empty."""
    try:
        return os.stat(name).st_size
    except OSError:
        return 0


def state_of(pid):
    """The state letter of /proc/PID/stat, or '' if the process does not exist."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return ''


def comm_of(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def children_of(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def expect_lossless(info, allocations=None, frees=None, end=None):
    """Checks that a trace has no losses, and optionally its counts and its end."""
    if end is not None:
        expect('end', (info['end']['kind'], info['end']['value']), end)
    expect('complete', info['complete'], True)
    totals = info['totals']
    for name in ('unknown_frees', 'implicit_frees', 'dropped_events', 'late_events'):
        expect(name, totals[name], 0)
    if allocations is not None:
        expect('allocations', totals['allocations'], allocations)
    if frees is not None:
        expect('frees', totals['frees'], frees)


def unmatched_frees(totals):
    """Frees that are not events of the trace because their allocation is missing, minus implicit
    frees, which are events without a call."""
    return totals['unrecorded_frees'] + totals['unknown_frees'] - totals['implicit_frees']


def compiled(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode or done.stdout:
        raise Failure(f'{" ".join(map(str, command))}: status {done.returncode}\n{done.stdout[:600]}')


def on_timeout(*_):
    raise Failure('takes too long')


NOBODY = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')


def need_other_user(place, mode):
    """Skips the test unless it can run the command as another user; sets this mode on the test's
    directory for that user."""
    if os.getuid() != 0:
        raise Skip('needs root to become somebody else')
    os.chmod('.', mode)
    if place.run(*NOBODY, place.binary, 'version').status:
        raise Skip('nobody may not run the command in this build folder')


def main(tests):
    parser = argparse.ArgumentParser()
    for name in ('--heaplapse', '--library', '--programs', '--include'):
        parser.add_argument(name, type=os.path.abspath, required=True)
    parser.add_argument('only', nargs='*', help='names of tests; all without')
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(('HEAPLAPSE_', 'LD_'))]:
        del os.environ[name]
    signal.signal(signal.SIGALRM, on_timeout)
    results = Results()
    for name, test in list(tests.items()):
        if not name.startswith('test_') or (args.only and name not in args.only):
            continue
        title = (test.__doc__ or name).partition('\n')[0].rstrip('.')
        with tempfile.TemporaryDirectory(prefix='heaplapse-manners-', ignore_cleanup_errors=True) as folder:
            os.chdir(folder)
            signal.alarm((30 if 'TRANSPARENCY_LONG' in os.environ else 3) * LIMIT)
            try:
                results.case(title, test, Place(args))
            except Skip as reason:
                print(f'ok {title} # SKIP {reason}', flush=True)
            signal.alarm(0)
            os.chdir('/')
    sys.exit(results.status())
