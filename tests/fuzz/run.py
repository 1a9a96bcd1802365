#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run - fuzzes each target for some time from its corpus, two at a time, and reports the coverage.

	run.py BUILD [--seconds N] [--merge DIRECTORY] [TARGET...]

BUILD is the directory of the fuzz programs (tests/fuzz of a build with -Dfuzz=true). Each target is
one case. It passes if nothing crashed, leaked, hung for 100 s (wall clock: the machine may be busy)
or used 512 MiB. Findings are in BUILD/findings.

Coverage is measured in lines of src/trace by clang's own counters, without tests (*_test.c, sim.h):
of each target alone; of all targets; and with the unit tests of src/trace, which run in the same
build and cover code that no file can reach, such as options of the writer. The last two must be 80
and 90 %; 90 % of the files that read must be covered by the fuzz targets alone.

--merge DIRECTORY: instead adds inputs from DIRECTORY/TARGET that increase the coverage to the
corpus next to this file, and minimizes it; regression-* stay, whatever they add.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import tap  # noqa: E402

TARGETS = ['head', 'payload', 'file', 'index', 'ring', 'filter', 'symbols', 'import', 'request']
LIMITS = ['-timeout=100', '-rss_limit_mb=512', '-malloc_limit_mb=256', '-close_fd_mask=1']
MAX_LEN = {'symbols': 20000, 'file': 40000, 'ring': 1500, 'filter': 400, 'request': 400}
READERS = re.compile(r'(reader\w*|decode|format|event_text|map_cursor)\.c$')


def tool(name):
    """The name of an LLVM tool: llvm-cov and others may be installed only with clang's version in their name."""
    version = subprocess.run(['clang', '-dumpversion'], capture_output=True, text=True).stdout
    for candidate in (f'{name}-{version.split(".")[0]}', name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f'{name} is not installed (package llvm)')


def environment(work, name):
    return dict(os.environ, TMPDIR=work, LLVM_PROFILE_FILE=f'{work}/{name}.profraw',
                ASAN_OPTIONS='detect_leaks=1:' + os.environ.get('ASAN_OPTIONS', ''))


def fuzz(args, work, name):
    """(error message or None, a line about the run)."""
    found = os.path.join(args.build, 'findings')
    os.makedirs(found, exist_ok=True)
    corpus = os.path.join(work, 'corpus-' + name)
    os.makedirs(corpus)
    command = [os.path.join(args.build, 'fuzz-' + name), *LIMITS, f'-max_len={MAX_LEN.get(name, 8000)}',
               f'-max_total_time={args.seconds}', '-print_final_stats=1', '-reload=0',
               f'-artifact_prefix={found}/{name}-', corpus, os.path.join(HERE, 'corpus', name)]
    done = subprocess.run(command, capture_output=True, text=True, errors='replace',
                          env=environment(work, name), timeout=args.seconds + 300)
    stats = dict(re.findall(r'stat::(\w+):\s+(\d+)', done.stderr))
    line = (f'{stats.get("number_of_executed_units", "?")} runs, {stats.get("new_units_added", "?")} new inputs, '
            f'at most {stats.get("peak_rss_mb", "?")} MiB')
    return (done.stderr[-6000:] if done.returncode else None), line


def lines_of(work, objects, profiles):
    """{file: (covered, all)} of src/trace."""
    merged = os.path.join(work, 'merged.profdata')
    subprocess.run([tool('llvm-profdata'), 'merge', '-sparse', '-o', merged, *profiles], check=True)
    more = [word for o in objects[1:] for word in ('-object', o)]
    out = subprocess.run([tool('llvm-cov'), 'export', '-summary-only', '-instr-profile', merged, objects[0], *more,
                          '-ignore-filename-regex', r'_test\.c$|sim\.h$|tests/'],
                         check=True, capture_output=True, text=True).stdout
    files = json.loads(out)['data'][0]['files']
    return {os.path.basename(f['filename']): (f['summary']['lines']['covered'], f['summary']['lines']['count'])
            for f in files if '/src/trace/' in f['filename']}


def percent(lines, wanted=lambda name: True):
    covered = sum(c for name, (c, _) in lines.items() if wanted(name))
    return 100 * covered / max(1, sum(n for name, (_, n) in lines.items() if wanted(name)))


def run_unit_tests(args, work):
    """Runs the unit tests of src/trace; returns their profiles."""
    programs = [os.path.join(args.build, '../../src', f'trace_{test.stem}')
                for test in sorted(pathlib.Path(SOURCE, 'src/trace').rglob('*_test.c'))]
    profiles = []
    for program in programs:
        name = os.path.basename(program)
        done = subprocess.run([program], capture_output=True, env=environment(work, name))
        tap.case(done.returncode == 0, name + ' in the build for fuzzing', done.stderr[-2000:].decode(errors='replace'))
        profiles.append(f'{work}/{name}.profraw')
    return programs, profiles


def show_coverage(args, work, names):
    objects = [os.path.join(args.build, 'fuzz-' + n) for n in names]
    profiles = [f'{work}/{n}.profraw' for n in names]
    if not all(map(os.path.exists, profiles)):
        return
    for o, p, n in zip(objects, profiles, names):
        print(f'# {n}: {percent(lines_of(work, [o], [p])):.1f} % of the lines of src/trace')
    if names != TARGETS:
        return
    alone = lines_of(work, objects, profiles)
    programs, more = run_unit_tests(args, work)
    together = lines_of(work, objects + programs, profiles + more)
    for name, (covered, count) in sorted(together.items()):
        print(f'#   {name}: {alone.get(name, (0, 0))[0]} of {count} lines by the fuzz targets, {covered} with the unit tests')
    readers = percent(alone, READERS.search)
    tap.case(readers >= 90, f'the fuzz targets cover {readers:.1f} % of the lines that read traces, of 90 wanted')
    tap.case(percent(alone) >= 80, f'the fuzz targets cover {percent(alone):.1f} % of src/trace, of 80 wanted')
    tap.case(percent(together) >= 90, f'with its unit tests {percent(together):.1f} % of src/trace are covered, of 90 wanted')


def merge(args, name):
    corpus = os.path.join(HERE, 'corpus', name)
    with tempfile.TemporaryDirectory() as work:
        new = os.path.join(work, 'new')
        os.makedirs(new)
        os.makedirs(corpus, exist_ok=True)
        subprocess.run([os.path.join(args.build, 'fuzz-' + name), *LIMITS, f'-max_len={MAX_LEN.get(name, 8000)}', '-set_cover_merge=1', new,
                        corpus, os.path.join(args.merge, name)], check=True, env=environment(work, name),
                       stderr=subprocess.DEVNULL)
        for old in os.listdir(corpus):
            if not old.startswith('regression-'):
                os.unlink(os.path.join(corpus, old))
        shutil.copytree(new, corpus, dirs_exist_ok=True)
    files = [os.path.getsize(os.path.join(corpus, f)) for f in os.listdir(corpus)]
    print(f'{name}: {len(files)} inputs, {sum(files)} bytes')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--seconds', type=int, default=int(os.environ.get('HL_FUZZ_SECONDS', '30')))
    parser.add_argument('--merge')
    parser.add_argument('targets', nargs='*')
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    names = args.targets or TARGETS
    if args.merge:
        for name in names:
            merge(args, name)
        return
    with tempfile.TemporaryDirectory(prefix='hl-fuzz-') as work:
        with ThreadPoolExecutor(2) as pool:
            for name, (why, line) in zip(names, pool.map(lambda n: fuzz(args, work, n), names)):
                tap.case(why is None, f'{name} fuzzed for {args.seconds} s: {line}', why)
        show_coverage(args, work, names)
    tap.finish()


if __name__ == '__main__':
    main()
