"""docs - what the tests of the documents share: TAP, an environment without ours, a folder to work in."""
import os
import sys

failures = 0
number = 0


def case(ok, name, why=''):
    global failures, number
    number += 1
    failures += not ok
    print(f'{"ok" if ok else "not ok"} {number} - {name}')
    if not ok and why:
        print('# ' + why.rstrip().replace('\n', '\n# '))
    sys.stdout.flush()


def finish():
    print(f'1..{number}')
    sys.exit(failures > 0)


def environment():
    unwanted = ('LD_PRELOAD', 'COLUMNS', 'CLICOLOR_FORCE', 'FORCE_COLOR')
    env = {k: v for k, v in os.environ.items() if k not in unwanted and not k.startswith('HEAPLAPSE_')}
    return {**env, 'LC_ALL': 'C.UTF-8'}


def prepare(folder, top, heaplapse, library):
    """As it looks after `make` to who reads the documents: build/ has the programs."""
    build = folder / 'build'
    build.mkdir()
    (build / 'heaplapse').symlink_to(heaplapse)
    (build / 'libheaplapse.so').symlink_to(library)
    for name in ('examples', 'include'):
        (folder / name).symlink_to(top / name)
