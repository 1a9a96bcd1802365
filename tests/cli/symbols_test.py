#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""symbols_test - src/symbol against addr2line -i -f -C: every code byte of small programs, and
files without DWARF."""
import os, random, shutil, subprocess, sys, tempfile

symbolize, subjects = sys.argv[1], sys.argv[2:]
failures = 0

def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print('FAILED:', what)

def symbolize_offsets(path, offsets, build_id='*'):
    text = ''.join(f'{o:x}\n' for o in offsets)
    out = subprocess.run([symbolize, path, build_id], input=text, capture_output=True, text=True, check=True).stdout
    note, _, rest = out.partition('\n')
    parsed = []
    at = 0
    lines = rest.split('\n')
    for _ in offsets:
        frames = []
        while lines[at]:
            f, file, line, inlined = lines[at].rsplit('|', 3)
            frames.append((f, os.path.basename(file), int(line), inlined == '1'))
            at += 1
        at += 1
        parsed.append(frames)
    return note, parsed

def addr2line(path, addresses):
    text = ''.join(f'{a:x}\n' for a in addresses)
    out = subprocess.run(['addr2line', '-a', '-i', '-f', '-C', '-e', path], input=text, capture_output=True, text=True).stdout
    result = []
    lines = out.split('\n')
    i = 0
    while i < len(lines) and lines[i]:
        if lines[i].startswith('0x'):
            result.append([])
            i += 1
            continue
        file, _, line = lines[i + 1].rpartition(':')
        line = line.split()[0]
        result[-1].append((lines[i], os.path.basename(file), int(line) if line.isdigit() else 0))
        i += 2
    return result

def text_range(path):
    for line in subprocess.run(['readelf', '-SW', path], capture_output=True, text=True).stdout.splitlines():
        parts = line.replace('[ ', '[').split()
        if len(parts) > 5 and parts[1] == '.text':
            return int(parts[3], 16), int(parts[5], 16)

def symbols(path):
    """(start, end) -> names of functions that have a size. Addresses outside are padding."""
    found = []
    for line in subprocess.run(['nm', '-S', '-C', path], capture_output=True, text=True).stdout.splitlines():
        p = line.split(None, 3)
        if len(p) == 4 and p[2] in 'tTwWi':
            found.append((int(p[0], 16), int(p[0], 16) + int(p[1], 16), p[3]))
    return found

def frames_match(mine, other, elf_names):
    """Compares frames, with allowances for addr2line. It gives a frame the ELF symbol's name when
    its DWARF has no linkage name (static functions), even if that frame is an inlined one and the
    symbol is the function around it, but not if it is the outer one of several."""
    return len(mine) == len(other) and all(
        m[1:3] == o[1:] and (m[0] == o[0] or o[0] in elf_names or (not m[3] and m[0] in elf_names)) for m, o in zip(mine, other))

def compare(path):
    lo, size = text_range(path)
    # Offsets are return addresses: the lookup uses the byte before.
    offsets = list(range(lo + 1, lo + size))
    if len(offsets) > 20000:
        offsets = sorted(random.Random(1).sample(offsets, 20000))
    note, mine = symbolize_offsets(path, offsets)
    other = addr2line(path, [o - 1 for o in offsets])
    check(note == '', f'{path}: note {note!r}')
    known = symbols(path)
    named = inlined = different = 0
    for o, a, b in zip(offsets, mine, other):
        around = {n for lo, hi, n in known if lo < o <= hi}
        if not around or b[0][1:] == ('??', 0):   # padding; code without DWARF (crt1.o)
            continue
        named += 1
        inlined += len(a) > 1
        if not frames_match(a, b, around):
            different += 1
            if different <= 5:
                print(f'{path} {o:#x}:\n  ours   {str(a)[:400]}\n  theirs {str(b)[:400]}')
    print(f'{os.path.basename(path)}: {len(offsets)} offsets, {named} named, {inlined} with inlined calls, {different} different')
    check(named > 100 and inlined > 10, f'{path}: too little to compare')
    check(different <= named // 1000,   # addr2line 2.40 itself gets a few file names wrong
           f'{path}: {different} of {named} differ from addr2line')

def without_dwarf(path, tmp):
    names = dict()
    for line in subprocess.run(['nm', path], capture_output=True, text=True).stdout.splitlines():
        p = line.split()
        if len(p) == 3 and p[1] in 'tT' and p[2] in ('main', 'fill', 'by_name'):
            names[p[2]] = int(p[0], 16)
    offsets = [v + 2 for v in names.values()]

    stripped = f'{tmp}/stripped'
    subprocess.run(['strip', '-g', '-o', stripped, path], check=True)
    note, frames = symbolize_offsets(stripped, offsets)
    check('no debug information' in note, f'strip -g: note {note!r}')
    check([f[0][0] for f in frames] == list(names), f'strip -g: {frames}')

    bare = f'{tmp}/bare'
    subprocess.run(['strip', '-o', bare, path], check=True)
    note, frames = symbolize_offsets(bare, offsets)
    check(all(not f for f in frames), f'strip: {frames}')

    # A separate debug file next to it, found by its debuglink and accepted by its build-id.
    subprocess.run(['objcopy', '--only-keep-debug', path, f'{tmp}/linked.debug'], check=True)
    subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=linked.debug', path, f'{tmp}/linked'], check=True, cwd=tmp)
    note, frames = symbolize_offsets(f'{tmp}/linked', offsets)
    check(note == '' and [f[-1][0] for f in frames] == list(names) and frames[0][0][2] > 0, f'debuglink: {note!r} {frames}')

def wrong_build_id(path, tmp):
    note, frames = symbolize_offsets(path, [text_range(path)[0] + 16], 'deadbeef')
    check('rebuilt since the recording' in note and frames == [[]], f'wrong build-id: {note!r} {frames}')
    os.mkfifo(f'{tmp}/fifo')
    for what in (f'{tmp}/fifo', '/dev/zero', '/proc/kcore', tmp, '/nowhere', '[vdso]', '', __file__, '/dev/tty'):
        r = subprocess.run([symbolize, what, '00'], input='1000\n', capture_output=True, text=True, timeout=20)
        check(r.returncode == 0 and r.stdout.endswith('\n\n'), f'{what}: {r}')

with tempfile.TemporaryDirectory() as tmp:
    for s in subjects:
        compare(os.path.abspath(s))
    without_dwarf(os.path.abspath(subjects[0]), tmp)
    wrong_build_id(os.path.abspath(subjects[0]), tmp)
sys.exit(failures != 0)
