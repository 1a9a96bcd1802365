#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-names - a name means one thing in the whole tree.

	check-names.py SRC MODULE...       the modules of the table in src/meson.build

A type or function that begins with hl_ is defined in one module. A base name (x of x.c, x.h, x_test.c,
x_internal.h) occurs in one directory. Files of the port contract, one set for each CPU, are the exception.
A directory has at most 36 files.
"""
import collections
import pathlib
import re
import sys

TYPE = re.compile(r'^(?:typedef )?(?:struct|enum|union) (hl_\w+) \{', re.M)
FUNCTION = re.compile(r'^(?![ \t#/*}]|typedef|return)[a-z][\w \t\n*()]*?[ *\n](hl_\w+)\([^;{}]*\)\s*\{', re.M)
SUFFIX = re.compile(r'(_test|_internal)$')
FILES_MAX = 36
PORTS = 'record/arch'


def owner(modules, path):
    fits = [name for name in modules if path.startswith(name + '/')]
    return max(fits, key=len) if fits else ''


def sources(src):
    for path in sorted(src.rglob('*.[ch]')):
        yield path.relative_to(src).as_posix(), path.read_text(errors='replace')


def check_definitions(src, modules):
    """A line for each name with several owners."""
    found = collections.defaultdict(dict)
    for rel, text in sources(src):
        for name in TYPE.findall(text) + FUNCTION.findall(text):
            found[name].setdefault(owner(modules, rel), rel)
    for name, owners in sorted(found.items()):
        if len(owners) > 1:
            yield f'{name} is defined in several modules: {", ".join(sorted(owners.values()))}'


def base_name(rel):
    stem = pathlib.PurePath(rel).stem
    return SUFFIX.sub('', stem[5:] if stem.startswith('test_') else stem)


def check_base_names(src):
    places = collections.defaultdict(set)
    for rel, _ in sources(src):
        if not rel.startswith(PORTS + '/'):
            places[base_name(rel)].add(str(pathlib.PurePath(rel).parent))
    for name, folders in sorted(places.items()):
        if len(folders) > 1:
            yield f'the base name {name} occurs in several directories: {", ".join(sorted(folders))}'


def check_sizes(src):
    counts = collections.Counter(path.parent for path in src.rglob('*') if path.is_file())
    for folder, count in sorted(counts.items()):
        if count > FILES_MAX:
            yield f'{folder.relative_to(src)} has {count} files, more than {FILES_MAX}: divide it by subject'


def main():
    src = pathlib.Path(sys.argv[1])
    bad = [*check_definitions(src, sys.argv[2:]), *check_base_names(src), *check_sizes(src)]
    print('\n'.join(bad) or 'each name means one thing')
    return bool(bad)


sys.exit(main())
