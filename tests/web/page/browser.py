# SPDX-License-Identifier: Apache-2.0
"""browser - chromium with the page of `heaplapse serve`, operated like a user; and what every test of the page needs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent.parent))
import npm_packages  # noqa: E402
import tap  # noqa: E402
import web  # noqa: E402


def arguments():
    """The arguments NAME=PATH of a test."""
    return {name: os.path.abspath(path) for name, path in (a.split('=', 1) for a in sys.argv[1:])}


programs = arguments()
heaplapse = programs['heaplapse']


def why_not_packages():
    """Why the packages of the page are not here; '': they are."""
    return npm_packages.install(programs['npm'], TOP / 'web')


def why_not():
    """Why there is no browser here; '': there is one."""
    return why_not_packages() if shutil.which('chromium') else 'chromium is not installed'


def run(*args, **more):
    return subprocess.run([heaplapse, *map(str, args)], capture_output=True, env=web.ENV, timeout=web.TIMEOUT, **more)


def report(trace, *args):
    """The answer of `heaplapse report --json`."""
    done = run('report', '--json', *args, trace)
    if done.returncode not in (0, 4):
        raise SystemExit(f'report {args}: {done.returncode} {done.stderr.decode()}')
    return json.loads(done.stdout)


class Browser:
    """A window with one tab. A failed command ends the test, with a picture."""

    def __init__(self, folder, width=1280, height=900, dark=False):
        self.folder = pathlib.Path(folder)
        self.base = ''
        packages = pathlib.Path(programs['npm'])
        env = dict(os.environ, NODE_PATH=str(packages / 'node_modules'), CHROMIUM=shutil.which('chromium'))
        self.process = subprocess.Popen([npm_packages.node_program(packages), str(HERE / 'driver.js')], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=env)
        profile = self.folder / f'profile-{width}-{"dark" if dark else "light"}'
        self.do('start', profile=str(profile), width=width, height=height, dark=dark)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.check()
        if self.process.poll() is None:
            try:
                self.do('stop')
            except SystemExit:
                self.process.kill()
        self.process.wait()

    def do(self, what, **more):
        self.process.stdin.write(json.dumps({'do': what, **more}) + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {'error': 'the browser has ended'}
        if 'error' in answer:
            raise SystemExit(f'{what} {more}: {answer["error"]}')
        return answer['value']

    def open(self, server, state=''):
        """Opens the page of a server in a state: what comes after # in its address."""
        if self.base != server.url:
            self.base = server.url
            self.do('open', url=server.url)
            self.ready()
        if state:
            self.do('open', url=f'http://{server.host}:{server.port}/#{state}')
        self.ready()

    def ready(self):
        self.do('ready')

    def click(self, where, **options):
        self.do('click', where=where, options=options)
        self.ready()

    def press(self, key, where=None):
        self.do('press', key=key, where=where)

    def fill(self, where, text):
        self.do('fill', where=where, text=text)

    def choose(self, where, value):
        self.do('choose', where=where, value=value)
        self.ready()

    def drag(self, where, start, end):
        self.do('drag', where=where, **{'from': start, 'to': end})
        self.ready()

    def click_at(self, where, at):
        """A place of an element, as shares of its size."""
        self.do('clickAt', where=where, at=at)
        self.ready()

    def look(self, script):
        """The value of an expression in the page."""
        return self.do('look', script=script)

    def wait_for(self, script):
        self.do('waitFor', script=script)

    def texts(self, where):
        return self.do('texts', where=where)

    def values(self, where):
        """The exact numbers of elements."""
        return [int(v) for v in self.look(f'[...document.querySelectorAll({json.dumps(where)})].map(e => e.dataset.value ?? e.value)')]

    def state(self):
        """The state in the address, decoded."""
        return dict(self.look('[...new URLSearchParams(location.hash.slice(1))]'))

    def serious(self):
        """Findings of axe that must not be."""
        return [v for v in self.do('axe') if v['impact'] in ('serious', 'critical')]

    def picture(self, name):
        """A picture for people, if the environment names a directory for them."""
        if os.environ.get('PICTURES'):
            self.do('screenshot', path=f'{os.environ["PICTURES"]}/{name}.png')

    def check(self):
        """No error of a script, nothing that the policy refused, nothing from elsewhere."""
        problems = self.do('problems')
        tap.case(not problems, 'no errors in the console', problems)
        outside = [r for r in self.do('requests') if not r.startswith(('data:', 'blob:', 'http://127.0.0.1:'))]
        tap.case(not outside, 'nothing is loaded from elsewhere', outside)


def main(what, test):
    """Runs a test in a directory of its own; skips it where there is no browser."""
    reason = why_not()
    if reason:
        tap.skipped(what, reason)
        tap.finish()
    else:
        with tempfile.TemporaryDirectory(prefix='heaplapse-page-') as name:
            test(name)
