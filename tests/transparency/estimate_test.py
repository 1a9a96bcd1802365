#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""estimate_test - estimates from samples compared with the true values, over many runs with known
seeds.

The interval of a total, of the live bytes and of each site contains the true value in 92 to 98 of
100 runs, and the mean of all runs is within two standard errors of it, or three for the worst of
the ten values. The seeds are fixed, so that the result is reproducible; ESTIMATE_RUNS=N uses
others.
"""
import json
import math
import os
import statistics

from transparency import Failure, expect, main

RUNS = int(os.environ.get('ESTIMATE_RUNS', '0'))
FIRST = 1000 if RUNS else 1
# With few runs the share itself is uncertain: 95 % of 60 are 57 +- 3.4 (two sigmas).
LOWEST, HIGHEST = (0.92, 0.98) if RUNS >= 200 else (0.87, 1.0)


def rows(place, option):
    answer = json.loads(place.heaplapse.run('report', '--sites', option, '--no-default-suppressions', '--json', 'm.hlt'))
    yield 'all', answer['total_bytes'], answer['total_bytes_margin']
    for row in answer['rows']:
        if row['function'].startswith('site'):
            yield row['function'], row['bytes'], row['bytes_margin']


def one_run(place, seed, found):
    done = place.record(place.program('mixed'), options=('-q', '-f', '-o', 'm.hlt', '--mode=sample=32K'),
                        env={**os.environ, 'HEAPLAPSE_SAMPLE_SEED': str(seed)})
    expect('status', done.status, 0)
    truth = [tuple(map(int, line.split())) for line in done.out.splitlines()]
    for column, option in enumerate(('--allocated', '--leaks')):
        wanted = {f'site{i}': numbers[column] for i, numbers in enumerate(truth)}
        wanted['all'] = sum(wanted.values())
        for name, estimate, margin in rows(place, option):
            found.setdefault((option, name), []).append((estimate, margin, wanted[name]))


def test_estimates(place):
    """the given ranges hold the truth, and the mean of many runs is the truth"""
    found, wrong = {}, []
    runs = RUNS or 60
    for seed in range(FIRST, FIRST + runs):
        one_run(place, seed, found)
    for key, tries in sorted(found.items()):
        expect(f'runs of {key}', len(tries), runs)
        truth = tries[0][2]
        covered = sum(abs(estimate - truth) <= margin for estimate, margin, _ in tries) / runs
        estimates = [estimate for estimate, _, _ in tries]
        off = (statistics.mean(estimates) - truth) / (statistics.stdev(estimates) / math.sqrt(runs))
        print(f'# {key}: covered {covered:.3f}, mean off by {off:+.2f} standard errors')
        if not LOWEST <= covered <= HIGHEST:
            wrong.append(f'{key}: covered {covered:.3f}')
        if abs(off) > 3:
            wrong.append(f'{key}: off by {off:+.2f} standard errors')
    expect('numbers', len(found), 10)
    if wrong:
        raise Failure('\n'.join(wrong))


if __name__ == '__main__':
    main(globals())
