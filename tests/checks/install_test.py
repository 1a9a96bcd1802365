#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""install_test - scripts/install-deps installs the missing packages and nothing else.

	install_test.py TOP

dpkg-query, apt-get, apt-cache, id and sudo are replaced by scripts in a separate directory that log
their arguments; the real ones are not in PATH.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(sys.argv[1]) / 'scripts/install-deps'

STANDINS = {
    'dpkg-query': 'for p in "$@"; do :; done\n'
                  'case " $ABSENT " in *" $p "*) exit 1 ;; esac\n'
                  'case " $REMOVED " in *" $p "*) echo "deinstall ok config-files"; exit ;; esac\n'
                  'printf "install ok installed"\n',
    'apt-get': 'echo "apt-get $*" >>"$CALLS"\n'
               'case " $* " in *" $APT_FAILS "*) echo "E: no"; exit 100 ;; esac\n',
    'apt-cache': 'for p in "$@"; do :; done\n'
                 'case " $UNKNOWN " in *" $p "*) ;; *) echo "Package: $p" ;; esac\n',
    'id': 'echo "$FAKE_UID"\n',
    'sudo': 'echo "sudo" >>"$CALLS"\nexec "$@"\n',
}
REAL = ('sh', 'env', 'mktemp', 'rm', 'tail', 'printf', 'echo')


def make_commands(folder, without):
    for name, text in STANDINS.items():
        if name not in without:
            (folder / name).write_text('#!/bin/sh\n' + text)
            (folder / name).chmod(0o755)
    for name in REAL:
        for where in ('/usr/bin', '/bin'):
            if os.path.exists(f'{where}/{name}'):
                (folder / name).symlink_to(f'{where}/{name}')
                break


def install(sets, without=(), absent='', removed='', uid=0, apt_fails='nothing', unknown='', programs=()):
    """(status, output, the calls of apt-get and sudo)"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_commands(folder, without)
        for program in programs:
            (folder / program).touch(0o755)
        calls = folder / 'calls'
        calls.touch()
        done = subprocess.run(['/bin/sh', SCRIPT, *sets], capture_output=True, text=True,
                              env={'PATH': name, 'CALLS': str(calls), 'ABSENT': absent,
                                   'REMOVED': removed, 'FAKE_UID': str(uid),
                                   'APT_FAILS': apt_fails, 'UNKNOWN': unknown})
        return done.returncode, done.stdout + done.stderr, calls.read_text().splitlines()


def nothing_missing():
    return install(['test', 'bench', 'soak']) == (0, '', [])


def nothing_missing_and_nobody():
    return install(['build'], uid=1000, without=('sudo',)) == (0, '', [])


def two_missing():
    status, said, calls = install(['test'], absent='meson libcmocka-dev')
    return (status == 0 and 'installing meson libcmocka-dev' in said and len(calls) == 2
            and calls[0].endswith(' update') and calls[1].endswith(' install meson libcmocka-dev')
            and '-o APT::Install-Recommends=false' in calls[1])


def servers_only_when_asked_for():
    return install(['build', 'test', 'bench'], absent='postgresql-15 nginx-light') == (0, '', [])


def another_name_is_installed():
    return (install(['test'], absent='libmimalloc2.0') == (0, '', [])
            and install(['test'], absent='libmimalloc3') == (0, '', []))


def another_name_in_this_release():
    both = 'libmimalloc2.0 libmimalloc3'
    return (install(['test'], absent=both, unknown='libmimalloc2.0')[2][-1].endswith(' install libmimalloc3')
            and install(['test'], absent=both, unknown=both)[2][-1].endswith(' install libmimalloc2.0'))


def programs_from_elsewhere():
    packages = 'nodejs npm rustc'
    return (install(['test'], absent=packages)[2][-1].endswith(' install ' + packages)
            and install(['test'], absent=packages, programs=('node', 'rustc'))[2][-1].endswith(' install npm')
            and install(['test'], absent=packages, programs=('node', 'npm', 'rustc')) == (0, '', []))


def removed_but_configured():
    return install(['build'], removed='gcc')[2][-1].endswith(' install gcc')


def each_only_once():
    return install(['build', 'test'], absent='gcc')[2][-1].endswith(' install gcc')


def by_sudo():
    calls = install(['build'], absent='gcc', uid=1000)[2]
    return calls[0] == 'sudo' and calls[-1].endswith(' install gcc')


def nobody_without_sudo():
    status, said, calls = install(['build'], absent='gcc', uid=1000, without=('sudo',))
    return status == 1 and 'only root can install them: gcc' in said and calls == []


def no_network():
    status, said, calls = install(['build'], absent='gcc', apt_fails='update')
    return status == 1 and 'apt-get update failed' in said and len(calls) == 1


def no_such_package():
    status, said, _ = install(['build'], absent='gcc', apt_fails='install')
    return status == 1 and 'E: no' in said and 'could not install all of: gcc' in said


def another_system():
    status, said, calls = install(['build'], without=('dpkg-query',))
    return status == 0 and 'not a Debian' in said and 'libdw-dev' in said and calls == []


def no_such_set():
    return install(['everything'])[0] == 2 and install([])[0] == 2


def main():
    fine = True
    for case in (nothing_missing, nothing_missing_and_nobody, two_missing,
                 servers_only_when_asked_for, another_name_is_installed, another_name_in_this_release,
                 programs_from_elsewhere, removed_but_configured,
                 each_only_once, by_sudo, nobody_without_sudo, no_network, no_such_package,
                 another_system, no_such_set):
        good = case()
        print(('ok ' if good else 'not ok ') + case.__name__.replace('_', ' '))
        fine &= good
    return 0 if fine else 1


sys.exit(main())
