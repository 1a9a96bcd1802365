#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-cpu-names - only the port contract names a CPU.

	check-cpu-names.py SRC

The name of a CPU, also as part of a word such as EM_X86_64 or __aarch64__, occurs only in record/arch, in meson.build
files and in files for one CPU (NAME_CPU.c). All other files use the constants of record/arch/cpu.h.
"""
import pathlib
import re
import sys

CPU = re.compile(r'x86[-_]64|amd64|\bi[3-6]86\b|aarch64|arm64|riscv|ppc64|powerpc|s390|loongarch|mips64', re.I)
ARCH = 'record/arch/'
SUFFIXES = ('.c', '.h', '.S', '.js', '.css', '.py')


def may_name_cpu(rel):
    return rel.startswith(ARCH) or CPU.search(pathlib.PurePath(rel).stem)


def check_file(src, file):
    rel = file.relative_to(src).as_posix()
    if may_name_cpu(rel):
        return
    for number, line in enumerate(file.read_text(errors='replace').splitlines(), 1):
        found = CPU.search(line)
        if found:
            yield f'{rel}:{number}: "{found[0]}" is the name of a CPU: use record/arch/cpu.h'


def main():
    src = pathlib.Path(sys.argv[1])
    files = sorted(path for path in src.rglob('*') if path.suffix in SUFFIXES)
    bad = [line for file in files for line in check_file(src, file)]
    print('\n'.join(bad) or f'{len(files)} files, no CPU is named outside of record/arch')
    return bool(bad)


sys.exit(main())
