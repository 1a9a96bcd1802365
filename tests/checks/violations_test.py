#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""violations_test - violations of each rule of the architecture must be refused.

	violations_test.py TOP CC RULE...      the RULEs are those of tools/check-layers.py

Every case works on a copy of the sources in a temporary directory and has the message that it
expects.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1])
CC = shlex.split(sys.argv[2])     # may begin with a cache: `ccache cc`
RULES = sys.argv[3:]


def run(*args, cwd=None):
    """(status, both output streams)"""
    done = subprocess.run([str(arg) for arg in args], cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def copy_tree(to):
    for name in ('src', 'include', 'tools', 'web/dist'):
        shutil.copytree(TOP / name, to / name)
    for name in ('meson.build', 'meson_options.txt'):
        shutil.copy(TOP / name, to / name)
    # meson.build refers to them, but they are not under test here
    for name in ('tests', 'bench'):
        (to / name).mkdir()
        (to / name / 'meson.build').touch()
    return to


def layers(tree, rules=RULES):
    return run(sys.executable, TOP / 'tools/check-layers.py', tree / 'src', *rules)


def include(file, line):
    """A case: insert `line` at the top of `file` (created if missing), then check the layers."""
    def case(tree):
        path = tree / 'src' / file
        text = path.read_text() if path.exists() else ''
        path.write_text(line + '\n' + text)
        return layers(tree)
    return case


def cpu_names(file, line):
    """A case: append `line` to `file` (created if missing), then check the names of CPUs."""
    def case(tree):
        with (tree / 'src' / file).open('a', encoding='utf-8') as out:
            out.write(line + '\n')
        return run(sys.executable, TOP / 'tools/check-cpu-names.py', tree / 'src')
    return case


def owners(file, line):
    """A case: append `line` to `file` (created if missing), then check who writes the parts of a target."""
    def case(tree):
        with (tree / 'src' / file).open('a', encoding='utf-8') as out:
            out.write(line + '\n')
        return run(sys.executable, TOP / 'tools/check-owners.py', tree / 'src')
    return case


def row(name, uses):
    """A case: replace the modules that the row of `name` uses by `uses`."""
    def case(tree):
        return layers(tree, [re.sub(r':[^:]*$', ':' + uses, rule) if rule.startswith(name + ':')
                             else rule for rule in RULES])
    return case


def table(old, new):
    """A case: configure with a changed line of the table in src/meson.build."""
    def case(tree):
        path = tree / 'src/meson.build'
        text, count = re.subn(old, new, path.read_text(), count=1)
        assert count == 1, f'no {old} in src/meson.build'
        path.write_text(text)
        return run('meson', 'setup', tree / 'b', tree)
    return case


def library(source, *args):
    """A case: check a recorder library built from `source`."""
    def case(tree):
        (tree / 'x.c').write_text(source)
        status, said = run(*CC, '-shared', '-fPIC', '-O1', '-o', tree / 'x.so', tree / 'x.c', *args)
        assert status == 0, said
        return run(sys.executable, TOP / 'tools/check-runtime.py', tree / 'x.so')
    return case


def undeclared_call(tree):
    """base calls the trace module without an include: its unit test links the modules of base's row
    only, so the link must fail."""
    path = tree / 'src/base/varint_test.c'
    text = path.read_text()
    assert 'int main(void)\n{\n' in text
    path.write_text(text.replace('int main(void)\n{\n', 'extern int hl_writer_end(void);\n'
                                 'int main(void)\n{\n\tif (hl_writer_end())\n\t\treturn 1;\n'))
    status, said = run('meson', 'setup', '-Dtests=enabled', tree / 'b', tree)
    assert status == 0, said
    return run('ninja', '-C', tree / 'b', 'src/base_varint_test')


HOOK = 'void *malloc(unsigned long n) { %s; return 0; }\n'
TLS_READER = 'char *reader(int i) { return &room[i]; }\n'

# Name, case, and the message that must refuse it.
REFUSED = [
    ('record includes model', include('record/start.c', '#include "model/query/query.h"'),
     r'record/start\.c:1: record may not include model'),
    ('record includes util', include('record/start.c', '#include "util/vec.h"'),
     r'record/start\.c:1: record may not include util'),
    ('a view includes the ring', include('views/text/x.c', '#include "ring/ring.h"'),
     r'views/text/x\.c:1: views/text may not include ring'),
    ('base includes ring', include('base/x.h', '#include "ring/ring.h"'),
     r'base/x\.h:1: base may not include ring'),
    ('the unwinder includes the hooks', include('record/unwind/x.c', '#include "record/hooks/hooks.h"'),
     r'record/unwind/x\.c:1: record/unwind may not include record$'),
    ("another module's _internal.h", include('collect/x.c', '#include "trace/file_internal.h"'),
     r'collect/x\.c:1: trace/file_internal\.h is private to trace'),
    ('a path that is not from src/', include('trace/x.c', '#include "event.h"'),
     r'trace/x\.c:1: write the path from src/: "event\.h"'),
    ('a path that climbs', include('trace/x.c', '#include "trace/../ring/ring.h"'),
     r'trace/x\.c:1: write the path from src/'),
    ('angle brackets around our own', include('model/x.c', '#include <trace/event.h>'),
     r'model/x\.c:1: write our own headers with quotes'),
    ('cmocka outside of a unit test', include('trace/x.c', '#include <cmocka.h>'),
     r'trace/x\.c:1: cmocka is for unit tests'),
    ('a folder without a row', lambda tree: ((tree / 'src/misc').mkdir(),
                                             include('misc/x.c', '')(tree))[1],
     r'misc/x\.c: belongs to no module'),
    ('the name of a CPU in the collector', cpu_names('collect/x.c', 'const char *arch = "x86_64";'),
     r'collect/x\.c:1: "x86_64" is the name of a CPU'),
    ('an ELF machine in the tool', cpu_names('cli/x.c', 'int machine = EM_AARCH64;'),
     r'cli/x\.c:1: "AARCH64" is the name of a CPU'),
    ('a CPU of the preprocessor', cpu_names('util/x.h', '#ifdef __riscv'),
     r'util/x\.h:1: "riscv" is the name of a CPU'),
    ("a CPU's library directory", cpu_names('record/x.c', '/* lib/x86_64-linux-gnu */'),
     r'record/x\.c:1: "x86_64" is the name of a CPU'),
    ('a part of a target written elsewhere', owners('collect/x.c', '\tp->exit.gone = true;'),
     r'collect/x\.c:1: .*only collect/target writes this part of a target'),
    ('a counter of another part', owners('collect/drain/x.c', '\tp->match.counters.late_events++;'),
     r'collect/drain/x\.c:1: .*only collect/match writes'),
    ('a counter of another part, before', owners('collect/match/x.c', '\tif (++f->target->retain.n_written > 1)'),
     r'collect/match/x\.c:1: .*only collect/retain writes'),
    ('a runtime row uses a tool module', row('ring', 'base,util'),
     r'ring runs in the target process but uses util, which does not'),
    ('a row uses what has no row', row('trace', 'base,misc'), r'trace uses misc, which has no row'),
    ('a cycle in the table', table(r"(\['base',\s*'runtime',) \[\]", r"\1 ['ring']"),
     r'the row of base names ring which is not a row above it'),
    ('a call that no row allows', undeclared_call, r'undefined reference to .hl_writer_end'),
    ('printf in a hook', library('int printf(const char *, ...);\n' + HOOK % 'printf("%lu", n)'),
     r'calls printf@GLIBC_\S+: not on the list'),
    ('strdup in the unwinder', library('char *strdup(const char *);\n'
                                       'char *hl_unwind_name(char *s) { return strdup(s); }\n',
                                       '-fvisibility=default'),
     r'calls strdup@GLIBC_\S+: not on the list'),
    ('__libc_malloc below a hook', library('void *__libc_malloc(unsigned long);\n'
                                           + HOOK % 'return __libc_malloc(n)'),
     r'calls __libc_malloc@GLIBC_\S+: not on the list'),
    ('libm in the recorder', library('', '-Wl,--no-as-needed', '-lm'), r'needs libm\.so'),
    ('dynamic TLS, by call', library('static __thread char room[64];\n' + TLS_READER,
                                     '-ftls-model=global-dynamic'),
     r'calls __tls_get_addr'),
    ('dynamic TLS, by relocation', library('static __thread char room[64];\n' + TLS_READER,
                                           '-ftls-model=global-dynamic'),
     r'has dynamic TLS \(R_\w+\)'),
    ('too much TLS', library('static __thread char room[257];\n' + TLS_READER,
                             '-ftls-model=initial-exec'),
     r'has 257 bytes of TLS: at most 256'),
    ('an internal name exported', library('int hl_ring_push(void) { return 0; }\n'),
     r'exports hl_ring_push: internal names stay inside'),
]

# Cases that must pass: otherwise checks that refuse everything would pass this test.
ALLOWED = [
    ('the sources as they are', layers),
    ('the public header', include('record/start.c', '#include "heaplapse.h"')),
    ('the public header in brackets', include('cli/x.c', '#include <heaplapse.h>')),
    ('cmocka in a unit test', include('trace/x_test.c', '#include <cmocka.h>')),
    ('cmocka in what unit tests share', include('trace/test_x.h', '#include <cmocka.h>')),
    ("a module's own _internal.h", include('trace/x.c', '#include "trace/file_internal.h"')),
    ('the name of a CPU in the port contract', cpu_names('record/arch/x.h', '/* aarch64 */')),
    ('the name of a CPU in a file for it', cpu_names('util/x_aarch64.c', '/* aarch64 */')),
    ('the name of a CPU in a build file', cpu_names('util/meson.build', '# aarch64')),
    ('a part of a target written by its owner', owners('collect/target/x.c', '\tp->exit.gone = true;')),
    ('a part of a target compared elsewhere', owners('collect/x.c', '\tif (p->exit.end.kind == HL_END_EXEC)')),
    ('256 bytes of initial-exec TLS', library('static __thread char room[256];\n' + TLS_READER,
                                              '-ftls-model=initial-exec')),
]


def attempt(case):
    with tempfile.TemporaryDirectory(prefix='heaplapse-checks-') as folder:
        return case(copy_tree(pathlib.Path(folder)))


def report(name, fine, said):
    print(('ok ' if fine else 'not ok ') + name, flush=True)
    if not fine:
        print('  # ' + said.strip().replace('\n', '\n  # '))
    return fine


def main():
    fine = True
    for name, case, sentence in REFUSED:
        status, said = attempt(case)
        refused = status != 0 and re.search(sentence, said, re.M)
        fine &= report('refused: ' + name, bool(refused), f'expected: {sentence}\n{said}')
    for name, case in ALLOWED:
        status, said = attempt(case)
        fine &= report('allowed: ' + name, status == 0, said)
    return 0 if fine else 1


sys.exit(main())
