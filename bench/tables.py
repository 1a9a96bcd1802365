"""tables - what the runs were, as Markdown."""
from measuring import columns


def number(form, value, unit=1):
    return '-' if value is None else form % (value / unit)


def cost_table(lines):
    rows = []
    for line in lines:
        if line.small and line.tool.name == 'native':
            continue  # it only divides the ones below
        name = line.tool.name + ' (small)' * line.small
        if line.failed:
            rows.append([line.work.name, name, 'fails'] + ['-'] * 9)
            continue
        events = line.events() if line.tool.events else None
        size = line.middle('trace_bytes')
        rows.append([
            line.work.name, name, '%.3f' % (line.middle('wall_ns') / 1e9),
            '%.2f' % line.middle('wall_ns_ratio'), line.span('wall_ns_ratio'),
            '%.2f' % line.middle('cpu_ns_ratio'), '%.1f' % (line.middle('target_rss') / 2**20),
            number('%+.1f', line.middle('extra_rss'), 2**20), number('%d', size),
            number('%.3f', size / events if size and events else None),
            number('%.2f', line.middle('report_ns'), 1e9), number('%.0f', line.middle('report_rss'), 2**20)])
    return columns(rows, ['work', 'tool', 'wall s', 'wall x', 'from-to', 'CPU x', 'target MiB', 'more',
                          'trace bytes', 'bytes/event', 'report s', 'report MiB'], texts=2)


def where_table(lines):
    """Where heaplapse's nanoseconds go. Frames are of an allocation; frees have no stack."""
    rows = [[line.work.name, '%.1f' % line.middle('ns_ratio'),
             '%.1f' % line.middle('hook') if line.work.threads == 1 else '-'] +  # their waits add up
            ['%.1f' % line.middle(key) for key in ('wait', 'collector')] +
            ['%.3f' % line.middle('walked'), '%.1f' % line.middle('verified')]
            for line in lines if line.tool.name == 'heaplapse' and line.middle('hook') is not None]
    return rows and columns(rows, ['heaplapse', 'ns x native', 'hook ns/event', 'wait ns/event',
                                   'collector ns/event', 'frames walked', 'frames verified'])


def curve_table(lines, variable):
    """One row a point, named by its work: each tool's ns a pair, and heaplapse's cost of an event."""
    rows, names = [], list(dict.fromkeys(line.tool.name for line in lines))
    for work in dict.fromkeys(line.work for line in lines):
        at = {line.tool.name: line for line in lines if line.work == work}
        own = at['heaplapse']
        rows.append([work.name] + [number('%.1f', at[name].middle('ns')) for name in names] +
                    [number('%.2f', at[name].middle('ns_ratio')) for name in names[1:]] +
                    ['%.1f' % own.cost_of_event()] +
                    ['%.1f' % own.middle(key) for key in ('wait', 'collector')] +
                    ['%.3f' % own.middle('walked'), '%.1f' % (own.middle('extra_rss') / 2**20)])
    return columns(rows, [variable] + names + [name + ' x' for name in names[1:]] +
                   ['more/event', 'wait/event', 'collector/event', 'walked', 'more MiB'])


def failures(lines):
    return ['%s on %s fails: %s' % (line.tool, line.work, line.failed) for line in lines if line.failed]


def bar_table(bars):
    rows = [[bar.what, bar.of, bar.shown, bar.limit, {True: 'yes', False: '**no**', None: '-'}[bar.met]]
            for bar in bars]
    return columns(rows, ['bar', 'of', 'measured', 'at most or at least', 'met'], texts=2)
