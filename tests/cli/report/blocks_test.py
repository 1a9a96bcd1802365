#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""blocks_test - report --blocks for a program that prints its blocks itself, and an example of each
parameter of Bytehound's filters that docs/migrating.md lists.

	blocks_test.py HEAPLAPSE BLOCKS
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap

heaplapse, program = map(os.path.abspath, sys.argv[1:3])
TOP = pathlib.Path(__file__).resolve().parent.parent.parent.parent
ENV = dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='80')
Block = collections.namedtuple('Block', 'phase address size chain position freed')
# The blocks of the program itself: main is in their stacks, and pthread_create is not.
OURS = 'fn:leak_all,hold,grow,descend'


def run(*args):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=60, env=ENV)


def rows(*args, expr='', trace='blocks.hlt'):
    r = run('report', '--json', '--blocks', '-n', '0', *args, '--filter', f'{OURS} {expr}', trace)
    if r.returncode:
        return r.stderr
    return json.loads(r.stdout)['rows']


def record():
    r = run('record', '--free-stacks', '-o', 'blocks.hlt', '--', program)
    lines = [line.split() for line in r.stdout.splitlines()]
    tap.case(r.returncode == 0 and len(lines) > 10, 'the program is recorded', f'{r}')
    return [Block(p, a, int(s), int(c), int(n), f) for p, a, s, c, n, f in lines]


def lengths(blocks):
    return collections.Counter(b.chain for b in blocks)


def check_rows(blocks):
    """Each row has what the program knows of its block."""
    found, length = rows(), lengths(blocks)
    first = {b.chain: b.size for b in reversed(blocks)}
    last = {b.chain: b.size for b in blocks}
    tap.case(len(found) == len(blocks), 'there is a row for each block', f'{len(found)} of {len(blocks)}')
    wrong = []
    for b, row in zip(blocks, found):
        site = row['freed_site'] or {}
        got = (row['function'], row['address'], row['size'], row['chain_position'], row['chain_length'],
               row['chain_first_size'], row['chain_last_size'], site.get('function') or '-')
        if got != (b.phase, b.address, b.size, b.position, length[b.chain], first[b.chain], last[b.chain], b.freed):
            wrong.append(f'{b}: {got}')
    tap.case(not wrong, 'rows are as the program printed them', '\n'.join(wrong))
    ends = {'grow': 'realloc', '-': 'none'}
    wrong = [f'{b}: {row["ended_by"]}' for b, row in zip(blocks, found) if row['ended_by'] != ends.get(b.freed, 'free')]
    tap.case(not wrong, 'how blocks ended', '\n'.join(wrong))
    foreign = [row for b, row in zip(blocks, found) if b.freed == 'free_elsewhere']
    tap.case(len(foreign) == 1 and foreign[0]['freed_by'] == 1 and foreign[0]['thread'] == 0, 'the thread that freed', f'{foreign}')
    chains = {b.chain: [r for c, r in zip(blocks, found) if c.chain == b.chain] for b in blocks}
    wrong = [c for c in chains.values() for r in c
             if r['chain_allocated_ns'] != c[0]['allocated_ns'] or
             r['chain_lifetime_ns'] != (c[-1]['freed_ns'] and c[-1]['freed_ns'] - c[0]['allocated_ns'])]
    tap.case(not wrong, 'lifetimes of chains', f'{wrong}')
    return found


def check_pages(found):
    """Pages behind each other are the whole list, in each order and direction."""
    keys = {'time': lambda r: (r['allocated_ns'], r['id']), 'address': lambda r: (int(r['address'], 16), r['id']),
            'size': lambda r: (-r['size'], r['id']), 'life': lambda r: (-(r['lifetime_ns'] or 1 << 60), r['id'])}
    for name, key in keys.items():
        for reverse in [], ['--reverse']:
            wanted = [r['id'] for r in sorted(found, key=key, reverse=bool(reverse))]
            got, after = [], []
            for _ in range(20):
                page = json.loads(run('report', '--json', '--blocks', '--sort', name, *reverse, '-n', '4', *after,
                                      '--filter', OURS, 'blocks.hlt').stdout)
                got += [r['id'] for r in page['rows']]
                if page['next'] is None:
                    break
                after = ['--after', page['next']]
            tap.case(got == wanted, f'pages by {name} {reverse}', f'{got}\n{wanted}')
            page = rows('--sort', name, *reverse, '--offset', '5')
            tap.case([r['id'] for r in page] == wanted[5:], f'--offset by {name} {reverse}', f'{page}')


def check_budget(found):
    """A page that a budget cuts ends where the next one begins."""
    got, after = [], []
    for _ in range(30):
        r = run('report', '--json', '--blocks', '--max-rows', '3', *after, '--filter', OURS, 'blocks.hlt')
        page = json.loads(r.stdout)
        got += [row['id'] for row in page['rows']]
        if page['next'] is None:
            break
        after = ['--after', page['next']]
    tap.case(got == [r['id'] for r in found], 'pages that --max-rows cuts', f'{got}')


def check_history(blocks, found):
    """An address inside of a block: each block that contained it."""
    for b in blocks[::3]:
        addr = int(b.address, 16) + b.size // 2
        wanted = [r['id'] for r in found if int(r['address'], 16) <= addr < int(r['address'], 16) + r['size']]
        got = [r['id'] for r in rows(expr=f'addr:{addr:#x}')]
        tap.case(got == wanted and wanted, f'the history of an address in {b}', f'{got} and not {wanted}')


def groups(*args, expr=''):
    r = run('report', '--json', '--blocks', '--group', 'stack', '-n', '0', *args, '--filter', f'{OURS} {expr}', 'blocks.hlt')
    return json.loads(r.stdout)['rows'] if r.returncode == 0 else r.stderr


def figures(of):
    times = [r['allocated_ns'] for r in of]
    return {'bytes': sum(r['bytes'] for r in of), 'blocks': len(of), 'leaked_blocks': sum(r['freed_ns'] is None for r in of),
            'first_ns': min(times), 'last_ns': max(times), 'interval_ns': max(times) - min(times)}


def check_groups(found):
    """Matching figures, and those of the whole run."""
    for expr, fits in ('', lambda r: True), ('size:>=1000', lambda r: r['size'] >= 1000), ('alive:end', lambda r: r['freed_ns'] is None):
        got = groups(expr=expr)
        stacks = {r['stack'] for r in found if fits(r)}
        tap.case({g['stack'] for g in got} == stacks and len(got) == len(stacks), f'the stacks of "{expr}"', f'{got}')
        wrong = []
        for g in got:
            all_of = [r for r in found if r['stack'] == g['stack']]
            if g['matched'] != figures([r for r in all_of if fits(r)]):
                wrong.append(f'{g}: matched')
            if {k: g['run'][k] for k in g['matched']} != figures(all_of):
                wrong.append(f'{g}: run')
            live = [(sum(b['size'] for b in all_of if b['allocated_ns'] <= r['allocated_ns'] and
                         (b['freed_ns'] or 1 << 60) > r['allocated_ns']), -r['allocated_ns']) for r in all_of]
            if (g['run']['peak_bytes'], -g['run']['peak_ns']) != max(live):
                wrong.append(f'{g}: peak, not {max(live)}')
        tap.case(not wrong, f'the figures of "{expr}"', '\n'.join(wrong))
    amounts = {'bytes': ('matched', 'bytes', -1), 'blocks': ('matched', 'blocks', -1), 'leaked': ('matched', 'leaked_blocks', -1),
               'first': ('matched', 'first_ns', 1), 'last': ('matched', 'last_ns', 1), 'interval': ('matched', 'interval_ns', -1),
               'run-blocks': ('run', 'blocks', -1), 'run-leaked': ('run', 'leaked_blocks', -1), 'run-first': ('run', 'first_ns', 1),
               'run-last': ('run', 'last_ns', 1), 'run-interval': ('run', 'interval_ns', -1), 'run-peak': ('run', 'peak_ns', 1)}
    for name, (of, key, sign) in amounts.items():
        for reverse in [], ['--reverse']:
            values = [g[of][key] * sign for g in groups('--sort', name, *reverse)]
            tap.case(values == sorted(values, reverse=bool(reverse)), f'groups by {name} {reverse}', f'{values}')


# Bytehound's parameters: our filter, and the blocks that it selects, as a function of the block, its row, and
# what the test knows of all of them. A parameter that is not here has no equivalent, and docs/migrating.md says so.
def examples(blocks, found):
    half = found[len(found) // 2]['allocated_ns']
    end = json.loads(run('info', '--json', 'blocks.hlt').stdout)['duration_ns']
    stack = found[3]['stack']
    freed_stack = next(r['freed_stack'] for b, r in zip(blocks, found) if b.freed == 'release')
    group = {n: figures([r for r in found if r['stack'] == n]) for n in {r['stack'] for r in found}}
    peak = {g['stack']: g['run']['peak_ns'] for g in groups()}
    depth = {r['stack']: sum(not f['inlined'] for f in r['frames']) for r in found}
    length = lengths(blocks)
    size_of = {(b.chain, b.position): b.size for b in blocks}
    life = {b.chain: r['chain_lifetime_ns'] for b, r in zip(blocks, found)}
    long = 1 << 60
    ns = lambda t: f'{t}ns'
    return {
        'from': (f'time:{ns(half)}..', lambda b, r: r['allocated_ns'] >= half),
        'to': (f'time:..{ns(half)}', lambda b, r: r['allocated_ns'] <= half),
        'alive_at': (f'alive:{ns(half)}', lambda b, r: r['allocated_ns'] <= half < (r['freed_ns'] or long)),
        'alive_at_2': (f'alive:{ns(half)} alive:end', lambda b, r: r['allocated_ns'] <= half and r['freed_ns'] is None),
        'lifetime=only_leaked': ('alive:end', lambda b, r: b.freed == '-'),
        'lifetime=only_chain_leaked': ('chain-alive:end', lambda b, r: life[b.chain] is None),
        'lifetime=only_whole_group_leaked': ('group-leaked:100%', lambda b, r: group[r['stack']]['leaked_blocks'] == group[r['stack']]['blocks']),
        'lifetime=only_temporary': ('-alive:end', lambda b, r: b.freed != '-'),
        'address_min': (f'addr:{blocks[2].address}..0xffffffffffffffff', lambda b, r: int(b.address, 16) >= int(blocks[2].address, 16)),
        'address_max': (f'addr:0x0..{blocks[2].address}', lambda b, r: int(b.address, 16) <= int(blocks[2].address, 16)),
        'size_min': ('size:200..', lambda b, r: b.size >= 200),
        'size_max': ('size:..200', lambda b, r: b.size <= 200),
        'first_size_min': ('chain-first:100..', lambda b, r: size_of[b.chain, 1] >= 100),
        'first_size_max': ('chain-first:..100', lambda b, r: size_of[b.chain, 1] <= 100),
        'last_size_min': ('chain-last:1000..', lambda b, r: size_of[b.chain, length[b.chain]] >= 1000),
        'last_size_max': ('chain-last:..3000', lambda b, r: size_of[b.chain, length[b.chain]] <= 3000),
        'chain_length_min': ('chain-length:4..', lambda b, r: length[b.chain] >= 4),
        'chain_length_max': ('chain-length:..3', lambda b, r: length[b.chain] <= 3),
        'chain_lifetime_min': ('chain-life:4ms..', lambda b, r: life[b.chain] is None or life[b.chain] >= 4000000),
        'chain_lifetime_max': ('chain-life:..4ms', lambda b, r: life[b.chain] is not None and life[b.chain] <= 4000000),
        'position_in_chain_min': ('chain-position:2..', lambda b, r: b.position >= 2),
        'position_in_chain_max': ('chain-position:..2', lambda b, r: b.position <= 2),
        'lifetime_min': ('life:1ms..', lambda b, r: (r['lifetime_ns'] or long) >= 1000000),
        'lifetime_max': ('life:..1ms', lambda b, r: (r['lifetime_ns'] or long) <= 1000000),
        'backtrace_depth_min': ('depth:20..', lambda b, r: depth[r['stack']] >= 20),
        'backtrace_depth_max': ('depth:..19', lambda b, r: depth[r['stack']] <= 19),
        'backtraces': (f'stack:{stack}', lambda b, r: r['stack'] == stack),
        'deallocation_backtraces': (f'freed-stack:{freed_stack}', lambda b, r: r['freed_stack'] == freed_stack),
        'function_regex': ('fn:/^(gr|h)o/', lambda b, r: b.phase in ('grow', 'hold')),
        'negative_function_regex': ('-fn:/^(gr|h)o/', lambda b, r: b.phase not in ('grow', 'hold')),
        'source_regex': ('file:/blocks[.]c$/', lambda b, r: True),
        'negative_source_regex': ('-file:/blocks[.]c$/', lambda b, r: False),
        'group_interval_min': ('group-interval:1ms..', lambda b, r: group[r['stack']]['interval_ns'] >= 1000000),
        'group_interval_max': ('group-interval:..50%', lambda b, r: group[r['stack']]['interval_ns'] * 2 <= end),
        'group_max_total_usage_first_seen_min': (f'group-peak:{ns(half)}..', lambda b, r: peak[r['stack']] >= half),
        'group_max_total_usage_first_seen_max': (f'group-peak:..{ns(half)}', lambda b, r: peak[r['stack']] <= half),
        'group_leaked_allocations_min': ('group-leaked:20%..', lambda b, r: group[r['stack']]['leaked_blocks'] * 5 >= group[r['stack']]['blocks']),
        'group_leaked_allocations_max': ('group-leaked:..1', lambda b, r: group[r['stack']]['leaked_blocks'] <= 1),
        'group_allocations_min': ('group-allocated:3..', lambda b, r: group[r['stack']]['blocks'] >= 3),
        'group_allocations_max': ('group-allocated:..2', lambda b, r: group[r['stack']]['blocks'] <= 2),
        'from_map': (f'addr:{min(b.address for b in blocks)}..{max(b.address for b in blocks)}', lambda b, r: True),
        # Not of Bytehound, but of its kind.
        'freed by a function': ('freed-fn:release', lambda b, r: b.freed == 'release'),
        'not freed by a function': ('-freed-fn:release', lambda b, r: b.freed != 'release'),
        'freed by a called function': ('freed-fn:realloc', lambda b, r: b.freed == 'grow'),
        'freed in a file': ('freed-file:blocks.c', lambda b, r: b.freed != '-'),
        'freed in a module': ('freed-module:blocks', lambda b, r: b.freed != '-'),
        'freed by a thread': ('freed-thread:1', lambda b, r: b.freed == 'free_elsewhere'),
    }


def check_terms(blocks, found):
    cases = examples(blocks, found)
    for name, (expr, fits) in cases.items():
        wanted = [r['id'] for b, r in zip(blocks, found) if fits(b, r)]
        got = rows(expr=expr)
        ids = [r['id'] for r in got] if isinstance(got, list) else got
        tap.case(ids == wanted, f'{name}: {expr}', f'{ids} and not {wanted}')
        total = json.loads(run('report', '--json', '--allocated', '--filter', f'{OURS} {expr}', 'blocks.hlt').stdout)
        tap.case((total['total_blocks'], total['total_bytes']) == (len(wanted), sum(r['size'] for r in found if r['id'] in wanted)),
                 f'{name}: the tree', f'{total["total_blocks"]}')
    return cases


def check_document(cases):
    """Each parameter of the table of filters is tested above, or has no equivalent."""
    text = (TOP / 'docs/migrating.md').read_text()
    table = text[text.index('### Filters', text.index('## memory-profiler')):]
    wrong = []
    for line in table[:table.index('\n###', 1) if '\n###' in table[1:] else None].splitlines():
        cells = [c.strip() for c in line.split('|')[1:-1]]
        if len(cells) != 3 or not cells[0].startswith('`') or cells[1] == 'none' or cells[1] == '`tag:NAME`':
            continue
        for name in re.findall(r'`([^`]+)`', cells[0]):
            term = re.findall(r'`-?([a-z-]+):', cells[1])
            if name not in cases or not any(t + ':' in cases[name][0] for t in term):
                wrong.append(f'{name}: {cells[1]}')
    tap.case(not wrong, 'docs/migrating.md: each parameter has a tested example', '\n'.join(wrong))


def check_refusals():
    for args, words in ((['--blocks', '--sort', 'bytes'], 'use one of time, address, size, life'),
                        (['--blocks', '--group', 'stack', '--sort', 'address'], 'use one of bytes, blocks'),
                        (['--blocks', '--group', 'site'], '--blocks has only --group=stack'),
                        (['--blocks', '--after', '12'], 'the "next" of another page'),
                        (['--blocks', '--group', 'stack', '--after', '1-2'], 'use --offset'),
                        (['--blocks', '--offset', '100000'], 'a number below 100000'),
                        (['--blocks', '--offset', '-1'], 'a number below 100000'),
                        (['--blocks', '--offset', '99999', '-n', '2'], 'at most 100000 rows'),
                        (['--offset', '3'], '--offset applies only to --blocks'),
                        (['--sites', '--reverse'], '--reverse applies only to --blocks'),
                        (['--leaks', '--after', '1-2'], '--after applies only to --blocks'),
                        (['--blocks', '--pool', 'x'], '--pool applies to')):
        r = run('report', *args, 'blocks.hlt')
        tap.case(r.returncode == 2 and words in r.stderr and not r.stdout, f'{args} is refused', f'{r}')
    r = run('record', '--mode=count', '-o', 'count.hlt', '--', program)
    r = run('report', '--blocks', 'count.hlt')
    tap.case(r.returncode == 3 and 'needs every event' in r.stderr, 'a trace of sums has no single blocks', f'{r}')
    r = run('report', '--allocated', '--filter', 'group-peak:..50%', 'count.hlt')
    tap.case(r.returncode == 3 and 'needs every event' in r.stderr, 'nor the times of groups', f'{r}')
    r = json.loads(run('report', '--json', '--allocated', '--filter', f'group-leaked:100% {OURS}', 'count.hlt').stdout)
    tap.case(r['total_blocks'] == len(rows(expr='group-leaked:100%')), 'but the counts of groups', f'{r}')
    r = run('record', '-o', 'plain.hlt', '--', program)
    r = run('report', '--blocks', '--filter', 'freed-fn:release', 'plain.hlt')
    tap.case(r.returncode == 3 and '--free-stacks' in r.stderr, 'a trace without stacks of frees', f'{r}')


def check_text():
    r = run('report', '--blocks', '-n', '4', '--filter', 'fn:grow', 'blocks.hlt')
    lines = r.stdout.splitlines()
    tap.case(r.returncode == 0 and not r.stderr and all(len(l) <= 80 for l in lines), 'text is at most 80 columns wide', f'{r}')
    tap.case('chain 1 of 4' in r.stdout and 'realloc in grow' in r.stdout, 'text has chains and frees', r.stdout)
    after = re.search(r'--after=([0-9a-f]+-[0-9a-f]+) shows', r.stdout)
    more = run('report', '--blocks', '--after', after[1] if after else '', '--filter', 'fn:grow', 'blocks.hlt')
    tap.case(more.stdout.count('0x') == 3 and 'more blocks' not in more.stdout, 'the next page of text', f'{more}')
    r = run('report', '--explain', '--blocks', '--filter', 'group-peak:..50%', 'blocks.hlt')
    tap.case('reads every event twice: for the realloc chains' in r.stdout and
             'group-: before that, every event is read' in r.stdout, '--explain names the passes', f'{r}')


with tempfile.TemporaryDirectory() as where:
    os.chdir(where)
    all_blocks = record()
    all_rows = check_rows(all_blocks)
    check_pages(all_rows)
    check_budget(all_rows)
    check_history(all_blocks, all_rows)
    check_groups(all_rows)
    check_document(check_terms(all_blocks, all_rows))
    check_refusals()
    check_text()
    os.chdir('/')
tap.finish()
