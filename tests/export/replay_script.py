# SPDX-License-Identifier: Apache-2.0
"""replay_script - reads and writes scripts of `export --format replay`, valid or not, by
docs/replay-format.md alone."""
import struct

MAGIC, END_MAGIC = b'HLREPLAY', b'HLREPEND'
RUN, PASS, FREE, MALLOC, CALLOC, NEW, REALLOC, ALIGNED = range(8)
CROSS = 16
ENDS = ('n_chunks', 'n_ops', 'n_threads', 'n_slots', 'allocations', 'frees', 'bytes', 'peak_bytes')
CHUNK = struct.Struct('<IIIIQQ')


def checksum(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def number(data, at):
    v = shift = 0
    while True:
        b = data[at]
        at += 1
        v |= (b & 0x7f) << shift
        shift += 7
        if b < 0x80:
            return v, at


def put(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def steps(data):
    """The steps of a stream: (op, cross, slot, size, align) with cross None or the number of steps
    before; for RUN: gap and us; for PASS: the thread."""
    at = slot = 0
    while at < len(data):
        op, cross = data[at] & 15, data[at] & CROSS
        at += 1
        if op == RUN:
            gap, at = number(data, at)
            us, at = number(data, at)
            yield RUN, None, gap, us, 0
            continue
        n, at = number(data, at)
        if op == PASS:
            yield PASS, None, n, 0, 0
            continue
        slot += (n >> 1) ^ -(n & 1)
        size = align = before = None
        if op != FREE:
            size, at = number(data, at)
        if op == ALIGNED:
            align, at = data[at], at + 1
        if cross:
            before, at = number(data, at)
        yield op, before, slot, size, align


def read(data):
    """The operations in order as (thread, op, slot, size, align), the fields of the end, and the
    start time of each chunk."""
    assert data[:8] == MAGIC and data[-8:] == END_MAGIC and struct.unpack('<II', data[8:16]) == (1, 0)
    end = dict(zip(ENDS, struct.unpack('<8Q', data[-72:-8])))
    at, ops, turn, times, last = 16, [], None, [], {}
    while at < len(data) - 72:
        size, n_ops, n_streams, first, us, total = CHUNK.unpack_from(data, at)
        at += CHUNK.size
        body = data[at:at + size]
        at += size
        assert checksum(body) == total and (turn is None or turn == first) and 0 < n_ops <= 65536
        table = [struct.unpack_from('<II', body, 8 * i) for i in range(n_streams)]
        streams, p = {}, 8 * n_streams
        for thread, n in table:
            streams[thread] = steps(body[p:p + n])
            p += n
        base, turn, where, times = len(ops), first, {}, times + [us]
        while len(ops) < base + n_ops:
            for i, (op, before, slot, size, align) in enumerate(streams[turn]):
                if op == RUN:
                    assert where.get(turn, base) + slot == len(ops)
                elif op == PASS:
                    turn = slot
                    break
                else:
                    whose, count = last.get(slot, (turn, 0))
                    assert (before is not None) == (whose != turn) and (before is None or before == count)
                    last[slot] = turn, count + 1
                    ops.append((turn, op, slot, size, align))
                    where[turn] = len(ops)
                assert i > 0 or op == RUN
        assert p == len(body) and all(next(s, None) is None for s in streams.values())
    assert at == len(data) - 72 and end['n_ops'] == len(ops) and end['n_chunks'] == len(times)
    return ops, end, times


def sums(ops):
    """The correct fields of the end; and the remaining blocks."""
    live, found, now = {}, dict.fromkeys(ENDS[4:], 0), 0
    for _, op, slot, size, _ in ops:
        if op in (FREE, REALLOC):
            now -= live.pop(slot)
            found['frees'] += 1
        if op != FREE:
            assert slot not in live
            live[slot] = size
            now += size
            found['allocations'] += 1
            found['bytes'] += size
        found['peak_bytes'] = max(found['peak_bytes'], now)
    return found, live


def make(ops, wait_us={}, **wrong):
    """A script of one chunk from (thread, op, slot[, size[, align]]). `wrong` overrides fields with
    wrong values."""
    streams, last, where, turn, us, clocks = {}, {}, {}, None, 0, {}
    for i, (thread, op, slot, *more) in enumerate(ops):
        us += wait_us.get(i, 0)
        s = streams.setdefault(thread, bytearray())
        if turn != thread or i in wait_us:
            if turn is not None and turn != thread:
                streams[turn] += bytes([PASS]) + put(thread)
            s += bytes([RUN]) + put(i - where.get(thread, 0)) + put(us - clocks.get(thread, 0))
            clocks[thread] = us
            turn = thread
        delta = slot - last.get(('slot', thread), 0)
        whose, count = last.get(slot, (thread, 0))
        s += bytes([op | (CROSS if whose != thread else 0)]) + put(delta << 1 if delta >= 0 else ~(delta << 1))
        if op != FREE:
            s += put(more[0])
        if op == ALIGNED:
            s.append(more[1])
        if whose != thread:
            s += put(wrong.get('before', count))
        last[slot], last['slot', thread], where[thread] = (thread, count + 1), slot, i + 1
    streams[turn] += bytes([PASS]) + put(wrong.get('pass_to', turn))
    for thread, extra in wrong.get('streams', {}).items():
        streams[thread] = extra
    table = b''.join(struct.pack('<II', t, len(s)) for t, s in streams.items())
    body = table + b''.join(streams.values())
    head = CHUNK.pack(wrong.get('chunk_bytes', len(body)), wrong.get('chunk_ops', len(ops)), wrong.get('n_streams', len(streams)),
                      wrong.get('first', ops[0][0]), 0, wrong.get('checksum', checksum(body)))
    try:
        end = sums([(*o, None, None)[:5] for o in ops])[0]
    except (AssertionError, KeyError):
        end = dict.fromkeys(ENDS[4:], 1)
    end |= {'n_chunks': 1, 'n_ops': len(ops), 'n_threads': len(streams), 'n_slots': max(o[2] for o in ops) + 1} | wrong.get('end', {})
    return MAGIC + struct.pack('<II', wrong.get('version', 1), 0) + head + body + struct.pack('<8Q', *(end[k] for k in ENDS)) + END_MAGIC
