#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints every event of a heaplapse trace as text, made from docs/trace-format.md alone.

usage: decode.py [--info | --snapshots | --names | --maps] TRACE

--names prints what the NAMES chunks say instead: MODULE 0xOFFSET, then for each frame, outermost first, FUNCTION|FILE|LINE, separated by tabs.
--maps prints the samples of the mappings instead: a line "sample TIME READ_NS MAPPINGS", then for each mapping
0xSTART SIZE PERMISSIONS OFFSET, the six amounts in KiB and the name.

Reads the file front to back, checks every checksum, and stops with a message at the first damage.
It shares no code with heaplapse, so that the two can be compared.
"""
import ctypes, os, sys
from itertools import accumulate

M64 = (1 << 64) - 1
TYPES = {1: 'META', 2: 'TABLE', 3: 'EVENTS', 4: 'KEYFRAME', 5: 'LIVESET', 6: 'RSS', 7: 'END', 8: 'INDEX', 9: 'MAPS', 40: 'NAMES', 41: 'FILE'}
FUNCS = ('malloc calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc new new[] free '
         'cfree free_sized free_aligned_sized delete delete[] implicit mmap munmap mremap pool unknown').split()
KINDS = ('mark snapshot start stop thread-name unknown-free dropped mmap munmap mremap mode pool '
         'pool-alloc pool-free').split()
CAUSES = 'asked churn time live rss ctl end mode signal'.split()

zstd = ctypes.CDLL('libzstd.so.1')
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Damage(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Damage(what)


# ---- CRC-32C: eight bytes a step, by eight tables

def _tables():
    t = [[0] * 256 for _ in range(8)]
    for i in range(256):
        c = i
        for _ in range(8):
            c = c >> 1 ^ 0x82F63B78 if c & 1 else c >> 1
        t[0][i] = c
    for i in range(256):
        for k in range(1, 8):
            t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255]
    return t


T0, T1, T2, T3, T4, T5, T6, T7 = _tables()


def crc32c(data):
    c = 0xFFFFFFFF
    whole = len(data) & ~7
    for w in memoryview(bytes(data[:whole])).cast('Q') if whole else ():
        w ^= c
        c = (T7[w & 255] ^ T6[w >> 8 & 255] ^ T5[w >> 16 & 255] ^ T4[w >> 24 & 255] ^
             T3[w >> 32 & 255] ^ T2[w >> 40 & 255] ^ T1[w >> 48 & 255] ^ T0[w >> 56])
    for b in data[whole:]:
        c = c >> 8 ^ T0[(c ^ b) & 255]
    return c ^ 0xFFFFFFFF


# ---- numbers

def u(data, at, size):
    return int.from_bytes(data[at:at + size], 'little')


def varints(data):
    """All varints of a column."""
    out, v, shift = [], 0, 0
    for b in data:
        if b < 128:
            if shift:
                need(shift < 63 or b < 2, 'a number of more than 64 bits')
                out.append(v | b << shift)
                v = shift = 0
            else:
                out.append(b)
        else:
            v |= (b & 127) << shift
            shift += 7
            need(shift < 70, 'a number of more than ten bytes')
    need(shift == 0, 'a number that is cut short')
    return out


def one_varint(data, at):
    v = shift = 0
    while True:
        need(at < len(data), 'a number that is cut short')
        b = data[at]
        at += 1
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            return v, at


def unzigzag(v):
    return v >> 1 ^ -(v & 1)


def deltas(values):
    return list(accumulate(map(unzigzag, values)))


def runs(values, n, what):
    need(len(values) % 2 == 0, what)
    out = []
    for value, count in zip(values[::2], values[1::2]):
        need(count > 0, what)
        out += [value] * count
    need(len(out) == n, what)
    return out


def size_class(size):
    c = (size + 23 & M64) >> 4
    return c if c < 256 else 255 + c.bit_length()


def life_class(units):
    if units == 0:
        return 0
    octave = units.bit_length() - 1
    return 1 + 4 * octave + ((units << 2 >> octave) & 3)


# ---- chunks

class Chunk:
    def __init__(self, data, at, sync):
        head = data[at:at + 112]
        need(len(head) == 112, f'byte {at}: the file ends in a chunk head')
        need(u(head, 0, 8) == sync, f'byte {at}: no sync word')
        self.type, self.flags = u(head, 8, 2), u(head, 10, 2)
        self.seq, self.length = u(head, 16, 8), u(head, 24, 4)
        self.n_columns, self.n_events, self.n_rows = u(head, 28, 4), u(head, 32, 4), u(head, 36, 4)
        (self.first_event, self.first_ordinal, self.t0, self.t1, self.live_bytes, self.live_blocks,
         self.max_live, self.aux, self.link) = (u(head, 40 + 8 * i, 8) for i in range(9))
        end = 112 + 16 * self.n_columns
        need(self.n_columns <= 64 and end <= self.length <= 1136 + (1 << 20) and self.length % 8 == 0,
             f'byte {at}: a head beyond the limits')
        body = data[at:at + self.length]
        need(len(body) == self.length, f'byte {at}: the file ends in a chunk')
        need(crc32c(body[:12] + bytes(4) + body[16:end]) == u(head, 12, 4), f'byte {at}: CRC of the head')
        self.columns, total = {}, 0
        for i in range(self.n_columns):
            d = 112 + 16 * i
            cid, codec, raw, packed = u(body, d, 2), body[d + 2], u(body, d + 4, 4), u(body, d + 8, 4)
            total += raw
            need(packed <= raw and total <= 1 << 20 and end + packed <= self.length, f'byte {at}: column lengths')
            bytes_ = body[end:end + packed]
            need(crc32c(bytes_) == u(body, d + 12, 4), f'chunk {self.seq}: CRC of column {cid}')
            self.columns[cid] = self.unpack(codec, bytes_, raw)
            end += packed
        need(self.length - end < 8 and not any(body[end:]), f'chunk {self.seq}: padding')

    def unpack(self, codec, packed, raw):
        if codec == 0:
            need(len(packed) == raw, f'chunk {self.seq}: length of a stored column')
            return packed
        need(codec == 1, f'chunk {self.seq}: unknown codec {codec}')
        out = ctypes.create_string_buffer(raw)
        need(zstd.ZSTD_decompress(out, raw, bytes(packed), len(packed)) == raw, f'chunk {self.seq}: zstd')
        return out.raw

    def bytes(self, cid):
        return self.columns.get(cid, b'')

    def varints(self, cid):
        return varints(self.bytes(cid))


def quoted(text):
    text = text.split(b'\0')[0]
    return '"' + ''.join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f'\\x{b:02x}' for b in text) + '"'


def node_name(code):
    return f'n{code - 1}' if code else '-'


def name(names, number, other):
    return names[number] if number < len(names) else f'{other}{number & 255}'


class Roles:
    """The roles that events refer to: a thread (its index) and a tag or None."""

    def __init__(self):
        self.roles, self.threads, self.tags = [], 0, 0

    def table(self, c):
        numbers = c.varints(1)
        first, count = numbers[4:6]
        need(first == len(self.roles), 'TABLE: first thread')
        need(len(c.varints(20)) == count, 'THREADS')
        if len(numbers) > 7:
            need(numbers[6] == self.tags, 'TABLE: first tag')
            self.check_tags(c.bytes(21), numbers[7])
        v, role, others = c.varints(22), first, {}
        need(len(v) % 3 == 0, 'ROLES')
        for step, back, tag in zip(v[::3], v[1::3], v[2::3]):
            role += step
            need(role not in others and role < first + count and 0 < back <= role and tag < self.tags, 'ROLES')
            others[role] = role - back, tag
        for i in range(first, first + count):
            if i in others:
                self.roles.append((self.roles[others[i][0]][0], others[i][1]))
            else:
                self.roles.append((self.threads, None))
                self.threads += 1

    def check_tags(self, data, count):
        at = 0
        for i in range(self.tags, self.tags + count):
            up, at = one_varint(data, at)
            length, at = one_varint(data, at)
            need(up <= i, 'TAGS: a parent')
            at += length
        need(at == len(data), 'TAGS')
        self.tags += count

    def thread(self, role):
        return self.roles[role][0]

    def tag(self, role, before):
        tag = self.roles[role][1]
        return '' if tag is None else f' {before}=g{tag}'


def extras(c, roles):
    """(events before it, line) of each extra."""
    data, at, out = c.bytes(49), 0, []
    before, time = 0, c.t0 // 64
    for _ in range(c.n_rows):
        v = []
        for _ in range(10):
            x, at = one_varint(data, at)
            v.append(x)
        step, kind, dt, thread, node, addr, size, value, value2, length = v
        before, time, text = before + step, time + dt, '-'
        if length:
            need(at + length - 1 <= len(data), 'a text that is cut short')
            text = quoted(data[at:at + length - 1])
            at += length - 1
        out.append((before, f'extra {time * 64} t{roles.thread(thread)} {name(KINDS, kind, "kind")} 0x{addr:x} {size} {value} '
                            f'{value2} {node_name(node)} {text}'))
    need(at == len(data), 'bytes after the last extra')
    return out


def weight(entry, size):
    """The blocks and bytes that a sample represents, as the end of its line."""
    return f' blocks={entry[0]} bytes={size + entry[1] & M64}' if entry else ''


def bits(data, n, what):
    need(len(data) == (n + 7) // 8, 'length of ' + what)
    return [data[i >> 3] >> (i & 7) & 1 for i in range(n)]


def event_times(c, n):
    if 30 in c.columns:
        later, steps = bits(c.bytes(30), n, 'LATER'), c.varints(31)
        need(len(steps) == sum(later), 'STEP')
        need(33 not in c.columns, 'TIME beside LATER')
        steps = iter(steps)
        return list(accumulate((next(steps) + 1 if bit else 0 for bit in later), initial=c.t0 // 64))[1:]
    need(31 not in c.columns, 'STEP without LATER')
    steps = c.varints(33)
    steps[::2] = list(accumulate(steps[::2], initial=c.t0 // 64))[1:]
    return runs(steps, n, 'TIME')


def event_lines(c, roles, base, lives):
    n = c.n_events
    ops = bits(c.bytes(32), n, 'OP')
    n_free = sum(ops)
    n_alloc = n - n_free
    times, threads = event_times(c, n), runs(c.varints(34), n, 'THREAD')
    need(not n or times[-1] <= c.t1 // 64, 'an event after t1')
    nodes, sizes = deltas(c.varints(35)), c.varints(36)
    afuncs, ffuncs = runs(c.varints(37), n_alloc, 'AFUNC'), runs(c.varints(41), n_free, 'FFUNC')
    need(len(nodes) == len(sizes) == n_alloc, 'allocations')
    addr_codes, refs = iter(c.varints(38)), c.varints(40)
    need(len(refs) == n_free, 'REF')
    fnodes = deltas(c.varints(42)) if 42 in c.columns else None
    old = list(zip(deltas(c.varints(43)), c.varints(44), c.bytes(46), c.varints(47)))
    xaddr_codes, old = iter(c.varints(45)), iter(old)
    moved = set()
    for at in accumulate(c.varints(39)):
        moved.update((at - 1, at))
    entries = iter(c.varints(48))
    weights, at = {}, 0
    for step in entries:
        at += step
        weights[at] = next(entries) + 1, next(entries)
    for at in accumulate(c.varints(162)):
        need(ops[at] == 1, 'PARTED')
    entries, at = iter(c.varints(163)), 0
    for step in entries:
        at += step
        back = next(entries) if ops[at] == 0 else 1
        need(at not in moved and back > 0, 'LINKED')
        need(ops[at] == 1 or back <= c.first_ordinal + ops[:at].count(0), 'LINKED')
    names_a = [name(FUNCS, f, 'func') for f in afuncs]
    names_f = [name(FUNCS, f, 'func') for f in ffuncs]

    stacks, lasts, xlast = {}, {}, 0
    first, prev, a, f = c.first_ordinal, c.first_ordinal, 0, 0
    addrs, born, born_by, stands_for, counts = [], [], [], [], []
    lines = []
    for i in range(n):
        time, thread, mark = times[i], threads[i], 'moved' if i in moved else '-'
        if not ops[i]:
            size = sizes[a]
            k = size_class(size)
            code = next(addr_codes)
            if code == 0:
                addr = stacks[k].pop()
            elif code == 1:
                v = next(addr_codes)
                addr = (lasts.get(k, 0) + 16 * unzigzag(v >> 4) & M64) + (v & 15)
            else:
                addr = lasts.get(k, 0) + 16 * unzigzag(code - 2) & M64
            lasts[k] = addr & ~15
            addrs.append(addr)
            born.append(time)
            born_by.append(thread)
            stands_for.append(weight(weights.get(i), size))
            counts.append(weights.get(i, (1, 0))[0])
            lines.append(f'alloc {time * 64} t{roles.thread(thread)} {names_a[a]} 0x{addr:x} {size} #{first + a} '
                         f'{node_name(nodes[a])} {mark}{roles.tag(thread, "in")}{stands_for[a]}')
            a += 1
            continue
        ref = refs[f]
        ordinal = prev + unzigzag(ref >> 1) if ref & 1 else first + a - 1 - (ref >> 1)
        need(0 <= ordinal < first + a, 'REF')
        need(ordinal >= base.allocs or ordinal in base.ordinals, 'a free of a block that the base does not have')
        prev = ordinal
        if ordinal >= first:
            b = ordinal - first
            node, size, addr, by = nodes[b], sizes[b], addrs[b], born_by[b]
            life, stands, count = life_class(time - born[b]), stands_for[b], counts[b]
            stack = stacks.setdefault(size_class(size), [])
            stack.append(addr)
            if len(stack) > 8:
                del stack[0]
        else:
            node, size, life, by = next(old)
            by, stands, count = by - 1 if by else thread, weight(weights.get(i), size), weights.get(i, (1, 0))[0]
            code = next(xaddr_codes)
            if code == 0:
                v = next(xaddr_codes)
                addr = (xlast + 16 * unzigzag(v >> 4) & M64) + (v & 15)
            else:
                addr = xlast + 16 * unzigzag(code - 1) & M64
            xlast = addr & ~15
        lives.add(life, count)
        at = node_name(fnodes[f]) if fnodes else '-'
        lines.append(f'free {time * 64} t{roles.thread(thread)} {names_f[f]} 0x{addr:x} {size} #{ordinal} '
                     f'{node_name(node)} {mark} life={life} by=t{roles.thread(by)} at={at}{roles.tag(by, "of")}'
                     f'{roles.tag(thread, "in")}{stands}')
        f += 1
    need(next(old, None) is None and next(addr_codes, None) is None and next(xaddr_codes, None) is None,
         f'chunk {c.seq}: more than its events')
    return lines


class Lifetimes:
    """The blocks freed so far by lifetime class, to compare with the sums of KEYFRAME and END (section 3.6)."""

    def __init__(self):
        self.counts, self.in_events = [0] * 256, True

    def add(self, life, count):
        self.counts[life] += count

    def check(self, c):
        if c.type == 4 and c.aux & 0xffffffff or 109 not in c.columns:
            return
        said, freed = c.varints(109), c.varints(1)[2]
        need(len(said) <= 256 and said[-1] > 0 and sum(said) & M64 == freed, 'LIFETIMES')
        said += [0] * (256 - len(said))
        if c.type == 4 and c.flags & 64:  # a base: the events before it are not in the file
            self.counts = said
        self.in_events &= 74 not in c.columns  # no block is aggregated
        need(not self.in_events or said == self.counts, 'LIFETIMES are not those of the events')


class Base:
    """The base of a trace that begins late (section 3.15): its live blocks, and the sums of its keyframe."""

    def __init__(self):
        self.late, self.ended, self.events, self.allocs, self.blocks = False, True, 0, 0, 0
        self.ordinals, self.live, self.sums = [], {}, None

    def meta(self, c):
        if 10 in c.columns:
            self.time, self.events, self.allocs, self.blocks, self.snapshots = (c.varints(10) + [0])[:5]
            self.late, self.ended, self.sums = True, False, Sums()
            need(self.blocks <= self.allocs <= self.events and self.snapshots < 2**32, 'BASE')

    def part(self, c, roles):
        need(self.late and not self.ended, 'a base where none is')
        need(c.first_event == self.events and c.first_ordinal == self.allocs and c.t1 <= self.time, 'base: position')
        need(c.aux & 0xffffffff == len(self.ordinals) // 16384 and c.aux >> 32 == -(-self.blocks // 16384), 'base: parts')
        columns = [[x & M64 for x in deltas(c.varints(cid))] for cid in range(80, 86)]
        funcs = c.bytes(88) or bytes([22]) * c.n_rows
        weights = [[x & M64 for x in deltas(c.varints(cid))] for cid in (86, 87)]
        need(all(len(x) == c.n_rows for x in columns + [funcs]), 'base: rows')
        need(all(len(x) in (0, c.n_rows) for x in weights), 'base: weights')
        need(c.n_rows == min(16384, self.blocks - len(self.ordinals)), 'base: rows of a part')
        out = []
        for i, (addr, size, node, ordinal, age, thread) in enumerate(zip(*columns)):
            need((self.ordinals[-1] if self.ordinals else -1) < ordinal < self.allocs, 'base: ordinals')
            need(addr + size <= M64 and age <= c.t1 // 64, 'base: a block')
            self.ordinals.append(ordinal)
            blocks, bytes_ = (weights[0][i], weights[1][i]) if weights[0] else (1, size)
            a, b = self.live.get(node, (0, 0))
            self.live[node] = a + blocks, b + bytes_
            sample = f' blocks={blocks} bytes={bytes_}' if (blocks, bytes_) != (1, size) else ''
            out.append(f'alloc {(c.t1 // 64 - age) * 64} t{roles.thread(thread)} {name(FUNCS, funcs[i], "func")} '
                       f'0x{addr:x} {size} #{ordinal} {node_name(node)} -{roles.tag(thread, "in")}{sample}')
        return out

    def keyframe(self, c):
        need(self.late and not self.ended and c.flags & 4, 'a base where none is')
        if not self.sums.part(c):
            return
        need(len(self.ordinals) == self.blocks, 'base: blocks')
        for node, (_, e) in self.sums.nodes.items():
            need(self.live.pop(node + 1, (0, 0)) == (e[0] - e[2], e[1] - e[3]), f'base: live blocks of n{node}')
        need(not set(self.live) - {0}, 'base: live blocks of other nodes')
        self.ended, self.ordinals = True, set(self.ordinals)


def name_lines(c):
    """A line for each place with names; - for no module and for what is not known."""
    n_texts, n_sites = c.varints(1)[:2]
    texts, data, at, out = [], c.bytes(164), 0, []
    for _ in range(n_texts):
        n, at = one_varint(data, at)
        need(at + n <= len(data), 'a text that is cut short')
        texts.append(data[at:at + n].decode(errors='replace'))
        at += n
    need(at == len(data), 'bytes after the last text')
    data, at = c.bytes(165), 0
    for _ in range(n_sites):
        module, at = one_varint(data, at)
        offset, at = one_varint(data, at)
        n, at = one_varint(data, at)
        need(n <= 1024, 'NAMES: frames')
        line = [f'{module - 1 if module else "-"} 0x{offset:x}']
        for i in range(n):
            function, at = one_varint(data, at)
            file, at = one_varint(data, at)
            number, at = one_varint(data, at)
            need(i > 0 or not number & 1, 'NAMES: inlined into nothing')
            line.append(f'{texts[function] or "-"}|{texts[file - 1] if file else "-"}|{number >> 1}')
        out.append('\t'.join(line))
    need(at == len(data), 'bytes after the last name')
    return out


class Maps:
    """The samples of the mappings (section 3.16): each is made from the one before."""

    def __init__(self):
        self.list, self.texts, self.text_bytes, self.seq, self.parts, self.time = [], [], 0, None, 0, 0

    def part(self, c):
        """The lines of a sample after its last part, else none."""
        number, parts = c.aux & 0xffffffff, c.aux >> 32
        if number == 0:
            need(c.flags & 4 or c.link == self.seq is not None, 'MAPS: the sample before it')
            if c.flags & 4:
                self.list, self.texts, self.text_bytes = [], [], 0
            time, self.read_ns, self.count = c.varints(1)[:3]
            need(self.time <= time and self.count <= 1 << 20, 'MAPS: time or count')
            self.time, self.seq, self.old, self.new = time, c.seq, 0, []
        need(number == self.parts and number < parts and c.seq == self.seq + number, 'MAPS: parts')
        self.parts = (number + 1) % parts
        self.add_texts(c.bytes(98))
        self.rows(iter(c.varints(99)), c.n_rows)
        return [] if self.parts else self.end()

    def add_texts(self, data):
        at = 0
        while at < len(data):
            n, at = one_varint(data, at)
            need(0 < n <= 4096 and at + n <= len(data) and 0 not in data[at:at + n], 'MAP_TEXTS')
            self.texts.append(bytes(data[at:at + n]))
            self.text_bytes += n
            at += n
        need(self.text_bytes <= 16 << 20, 'MAP_TEXTS: bytes')

    def rows(self, v, n):
        for _ in range(n):
            word = next(v)
            need(self.old + (word >> 2) + (word & 3 < 2) <= len(self.list), 'MAP_ROWS: old mappings')
            self.new += self.list[self.old:self.old + (word >> 2)]
            self.old += word >> 2
            if word & 3 == 2:
                gap, pages, perms, offset, text = (next(v) for _ in range(5))
                start = gap + (self.new[-1][0] + self.new[-1][1] if self.new else 0)
                need(perms < 16 and text <= len(self.texts), 'MAP_ROWS: a new mapping')
                self.new.append((start, pages, perms, offset, self.texts[text - 1] if text else b'',
                                 tuple(next(v) for _ in range(6))))
                continue
            need(word & 3 < 2, 'MAP_ROWS: operation')
            if word & 3 == 1:
                mask = next(v)
                need(0 < mask < 128, 'MAP_ROWS: mask')
                start, pages, perms, offset, text, amounts = self.list[self.old]
                amounts = tuple(x + unzigzag(next(v)) if mask >> i & 1 else x for i, x in enumerate(amounts))
                pages += unzigzag(next(v)) if mask & 64 else 0
                self.new.append((start, pages, perms, offset, text, amounts))
            self.old += 1
        need(next(v, None) is None, 'MAP_ROWS: more than its rows')

    def end(self):
        self.list, end = self.new + self.list[self.old:], 0
        need(len(self.list) == self.count, 'MAPS: number of mappings')
        out = [f'sample {self.time * 64} {self.read_ns} {self.count}']
        for start, pages, perms, offset, text, amounts in self.list:
            need(start >= end and pages > 0 and start + pages < 1 << 52, 'MAPS: addresses')
            need(all(0 <= x < 1 << 47 for x in amounts), 'MAPS: amounts')
            end = start + pages
            letters = ''.join(x if perms >> i & 1 else '-' for i, x in enumerate('rwx')) + ('s' if perms & 8 else 'p')
            out.append(f'map 0x{start * 4096:x} {pages * 4096} {letters} {offset * 4096} '
                       f'{" ".join(map(str, amounts))} {quoted(text)}')
        return out


class Files:
    """The files that the trace carries: the pieces of each follow each other."""

    def __init__(self):
        self.number, self.at, self.size = None, 0, 0

    def piece(self, c):
        number, at, size, kind = c.varints(1)[:4]
        if number != self.number or at == 0:
            need(at == 0 and self.at == self.size and c.bytes(168), 'FILE: first piece')
            self.number, self.at, self.size = number, 0, size
        need(at == self.at and size == self.size and kind < 3, 'FILE: piece')
        self.at += len(c.bytes(170))
        need(self.at <= size, 'FILE: size')

    def end(self):
        need(self.at == self.size, 'FILE: pieces are missing')


def show_events(c, roles, base, lives, out):
    lines = event_lines(c, roles, base, lives)
    done = 0
    for at, line in extras(c, roles):
        out += lines[done:at]
        out.append(line)
        done = at
    out += lines[done:]


def chunks(data):
    """All chunks; checks header, sequence, index and trailer on the way."""
    need(data[:8] == b'\x89HLT\r\n\x1a\n', 'this is not a heaplapse trace')
    need(crc32c(data[:60]) == u(data, 60, 4), 'CRC of the file header')
    need(u(data, 8, 4) == 0, f'version {u(data, 8, 4)} is newer than 0')
    sync, at, seq, rows, index_at = u(data, 16, 8), 64, 0, [], None
    while at < len(data) and not (index_at and len(data) - at == 32):
        c = Chunk(data, at, sync)
        need(c.seq == seq, f'chunk {seq} is missing')
        if c.type == 8:
            index_at = index_at or at
            need(c.aux == len(rows), 'INDEX: its first row')
            columns = [deltas(c.varints(112 + i)) for i in range(14)]
            need(all(len(x) == c.n_rows for x in columns), 'INDEX: rows')
            rows += zip(*columns)
        else:
            need(index_at is None, 'a chunk after the index')
            yield c, at
        seq, at = seq + 1, at + c.length
    if index_at is None:
        return
    t = data[at:]
    need(u(t, 0, 8) == sync and t[24:28] == b'HLTe' and crc32c(t[:28]) == u(t, 28, 4), 'trailer')
    need(u(t, 8, 8) == index_at, 'trailer: place of the index')
    place = 64
    for row in rows:
        c = Chunk(data, place, sync)
        need(row == (c.type, c.flags, c.length // 8, c.n_events, c.n_rows, c.first_event, c.first_ordinal, c.t0, c.t1,
                     c.live_bytes, c.live_blocks, c.max_live, c.aux, c.link), f'INDEX: chunk {c.seq}')
        place += c.length
    need(place == index_at, 'INDEX: lengths')


class Sums:
    """Keyframe after keyframe: blocks and bytes allocated, live, and of the allocated those in events, by node."""

    def __init__(self):
        self.nodes, self.numbers, self.withheld, self.snapshot = {}, [], [0] * 4, None

    def part(self, c):
        if c.aux & 0xffffffff == 0:
            if c.flags & 4:
                self.nodes = {}
            self.numbers = c.varints(1)
            self.withheld = c.varints(74) or [0] * 4
            self.snapshot = c.bytes(75) if c.flags & 32 else None
            need(len(self.withheld) == 4 and all(a <= b for a, b in zip(self.withheld, self.numbers)), 'withheld')
        node, columns = 0, [c.varints(cid) for cid in range(64, 71)]
        written = [c.varints(cid) for cid in range(76, 80)]
        need(all(len(x) == c.n_rows for x in columns), 'rows')
        need(all(len(x) in (0, c.n_rows) for x in written), 'rows of what is written')
        for i in range(c.n_rows):
            node += columns[0][i]
            blocks, size, live_blocks, live = (columns[k][i] for k in range(1, 5))
            sums = (blocks, size, blocks - live_blocks, size - live)
            events = tuple(x[i] for x in written) if written[0] else sums
            need(all(a <= b for a, b in zip(events, sums)), 'more in events than in all')
            self.nodes[node] = (sums, events)
        return (c.aux & 0xffffffff) + 1 == c.aux >> 32

    def line(self, c):
        """snapshot NUMBER CAUSE TIME, four sums of all, four of what is in no event, LABEL."""
        at, fields = 0, []
        for _ in range(4):
            value, at = one_varint(self.snapshot, at)
            fields.append(value)
        held = [sum(s[k] - e[k] for s, e in self.nodes.values()) for k in range(4)]
        need(all(a <= b for a, b in zip(held, self.withheld)), 'withheld by node')
        return (f'snapshot {fields[0]} {name(CAUSES, fields[1], "cause")} {c.t1} ' +
                ' '.join(map(str, self.numbers[:4] + self.withheld)) + ' ' + quoted(self.snapshot[at:]))


def show_snapshots(data):
    sums = Sums()
    for c, _ in chunks(data):
        if c.type == 4 and sums.part(c) and sums.snapshot is not None:
            print(sums.line(c))


def main(args):
    info, names, show_maps = '--info' in args, '--names' in args, '--maps' in args
    quiet = info or names or show_maps
    paths = [a for a in args if a not in ('--info', '--snapshots', '--names', '--maps')]
    if len(paths) != 1:
        sys.exit(__doc__)
    with open(paths[0], 'rb') as f:
        data = f.read()
    events, roles, files, base, lives, maps = 0, Roles(), Files(), Base(), Lifetimes(), Maps()
    try:
        if '--snapshots' in args:
            show_snapshots(data)
            return
        for c, at in chunks(data):
            if info:
                print(f'{at:10} {c.seq:6} {TYPES.get(c.type, c.type):8} {c.length:8} bytes {c.n_events:6} events '
                      f'{c.n_rows:6} rows  flags {c.flags}')
            if c.type == 1:
                base.meta(c)
                events = base.events
            if c.type == 2:
                roles.table(c)
            if c.type == 5 and c.flags & 64:
                out = base.part(c, roles)
                if not quiet and out:
                    sys.stdout.write('\n'.join(out) + '\n')
            if c.type == 4 and c.flags & 64:
                base.keyframe(c)
            if c.type in (4, 7):
                lives.check(c)
            if c.type == 9:
                lines = maps.part(c)
                if show_maps:
                    sys.stdout.write(''.join(line + '\n' for line in lines))
            if c.type == 40:
                lines = name_lines(c)
                if names:
                    sys.stdout.write(''.join(line + '\n' for line in lines))
            if c.type == 41:
                files.piece(c)
            if c.type == 3:
                need(c.first_event == events, f'chunk {c.seq}: first event')
                need(base.ended or not c.n_events, 'events in the base')
                events += c.n_events
                out = []
                show_events(c, roles, base, lives, out)
                if not quiet and out:
                    sys.stdout.write('\n'.join(out) + '\n')
        files.end()
    except (Damage, IndexError, KeyError, StopIteration) as e:
        sys.stdout.flush()
        sys.exit(f'decode.py: {paths[0]}: damaged: {e!r}')


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # decode.py FILE | head: what is not wanted is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
