# SPDX-License-Identifier: Apache-2.0
"""tables - the results of the runs as Markdown tables."""
from measuring import columns


def format_value(form, value, unit=1):
    return '-' if value is None else form % (value / unit)


def cost_table(lines):
    rows = []
    for line in lines:
        if line.small and line.tool.name == 'native':
            continue  # it is only the divisor of the lines below
        name = line.tool.name + ' (small)' * line.small
        if line.failed:
            rows.append([line.work.name, name, 'fails'] + ['-'] * 9)
            continue
        events = line.events() if line.tool.events else None
        size = line.median_of('trace_bytes')
        rows.append([
            line.work.name, name, '%.3f' % (line.median_of('wall_ns') / 1e9),
            '%.2f' % line.median_of('wall_ns_ratio'), line.span('wall_ns_ratio'),
            '%.2f' % line.median_of('cpu_ns_ratio'), '%.1f' % (line.median_of('target_rss') / 2**20),
            format_value('%+.1f', line.median_of('extra_rss'), 2**20), format_value('%d', size),
            format_value('%.3f', size / events if size and events else None),
            format_value('%.2f', line.median_of('report_ns'), 1e9), format_value('%.0f', line.median_of('report_rss'), 2**20)])
    return columns(rows, ['work', 'tool', 'wall s', 'wall x', 'from-to', 'CPU x', 'target MiB', 'more',
                          'trace bytes', 'bytes/event', 'report s', 'report MiB'], texts=2)


def where_table(lines):
    """Shows where heaplapse's nanoseconds are spent. Frames are counted per allocation; frees have no stack."""
    rows = [[line.work.name, '%.1f' % line.median_of('ns_ratio'),
             '%.1f' % line.median_of('hook') if line.work.threads == 1 else '-'] +  # the waits of threads add up
            ['%.1f' % line.median_of(key) for key in ('wait', 'collector')] +
            ['%.3f' % line.median_of('walked'), '%.1f' % line.median_of('verified')]
            for line in lines if line.tool.name == 'heaplapse' and line.median_of('hook') is not None]
    return rows and columns(rows, ['heaplapse', 'ns x native', 'hook ns/event', 'wait ns/event',
                                   'collector ns/event', 'frames walked', 'frames verified'])


def curve_table(lines, variable):
    """One row per point, named after its workload: the ns per pair of each tool, and heaplapse's
    cost per event."""
    rows, names = [], list(dict.fromkeys(line.tool.name for line in lines))
    for work in dict.fromkeys(line.work for line in lines):
        at = {line.tool.name: line for line in lines if line.work == work}
        own = at['heaplapse']
        rows.append([work.name] + [format_value('%.1f', at[name].median_of('ns')) for name in names] +
                    [format_value('%.2f', at[name].median_of('ns_ratio')) for name in names[1:]] +
                    ['%.1f' % own.cost_of_event()] +
                    ['%.1f' % own.median_of(key) for key in ('wait', 'collector')] +
                    ['%.3f' % own.median_of('walked'), '%.1f' % (own.median_of('extra_rss') / 2**20)])
    return columns(rows, [variable] + names + [name + ' x' for name in names[1:]] +
                   ['more/event', 'wait/event', 'collector/event', 'walked', 'more MiB'])


def failures(lines):
    return ['%s on %s fails: %s' % (line.tool, line.work, line.failed) for line in lines if line.failed]


def bar_table(bars):
    rows = [[bar.what, bar.of, bar.shown, bar.limit, {True: 'yes', False: '**no**', None: '-'}[bar.met]]
            for bar in bars]
    return columns(rows, ['bar', 'of', 'measured', 'at most or at least', 'met'], texts=2)
