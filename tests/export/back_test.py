#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""back_test - an exported and re-imported trace gives the same reports as the original, stack by stack."""
import tempfile

from viewers import export, make_traces, record_sqlite3, report, run, run_ok
import tap

# The quantities that a file of this format has: the query on the original trace and on the re-imported one.
LEFT = '--leaks --no-default-suppressions'
QUESTIONS = {'heaptrack': [(q, q) for q in ('--peak', LEFT, '--allocated', '--temporary')],
             'pprof': [('--peak', LEFT), ('--allocated', '--allocated')]}
SUFFIXES = {'heaptrack': ['', '.gz', '.zst'], 'pprof': ['.pb.gz']}


def stacks(*args):
    """(bytes, blocks) by stack, without the called function, which these files cannot store."""
    paths, sums = [], {}
    for node in report(*args)['nodes']:
        path = paths[node['parent']] if node['parent'] is not None else ()
        frame = (node['function'], node['file'], node['line'], node['module'], node['inlined'])
        called = node['module'] is None and node['self_blocks'] and not node['function'].startswith(('[', '0x'))
        paths.append(path if called else (*path, frame))
        if node['self_blocks']:
            had = sums.get(paths[-1], (0, 0))
            sums[paths[-1]] = (had[0] + node['self_bytes'], had[1] + node['self_blocks'])
    return sums


def first_difference(a, b):
    return next((f'{k}: {a.get(k)} {b.get(k)}' for k in {**a, **b} if a.get(k) != b.get(k)), '')[-600:]


def main():
    with tempfile.TemporaryDirectory() as folder:
        traces = make_traces(folder)
        traces['sqlite3'] = record_sqlite3(folder)
        for name, path in traces.items():
            for form, questions in QUESTIONS.items():
                for suffix in SUFFIXES[form]:
                    file, back = f'{folder}/{name}.{form}{suffix}', f'{folder}/back.hlt'
                    run_ok('export', '-f', form, '-o', file, path)
                    r = run('import', '-f', '-o', back, file)
                    tap.case(r.returncode == 0, f'{name}: {form}{suffix} is imported', r.stderr.decode())
                    for asked, again in questions if r.returncode == 0 else []:
                        there, here = stacks(*asked.split(), path), stacks(*again.split(), back)
                        tap.case(here == there and (there or asked == '--temporary'), f'{name}: {form}{suffix} {asked}',
                                 f'{len(there)} {len(here)} {first_difference(there, here)}')
        # The re-imported trace is a normal trace: it can be exported again.
        tap.case(export('collapsed', '--allocated', back), 'and exported again')
    tap.finish()


main()
