# SPDX-License-Identifier: Apache-2.0
"""inputs - input files for the real programs of the benchmark. They are written once and are the
same on every machine.

Each function writes one file below a directory, unless it exists, and returns its path.
"""
import os
import shutil

# Words repeat, as in natural text. A modulus instead of a random generator makes the file
# independent of the version of Python.
WORDS = ('block stack frame leak peak page heap ring trace thread size list tree node name site time '
         'free live old new').split()


def words(seed, count):
    return ' '.join(WORDS[(seed * 7 + i * i * 3 + seed // 11 * i) % len(WORDS)] for i in range(count))


def write_once(folder, name, pieces):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with open(path + '.new', 'w', encoding='ascii') as file:
            file.writelines(pieces)
        os.replace(path + '.new', path)
    return path


def xml_document(folder, megabytes):
    def pieces():
        yield '<?xml version="1.0"?>\n<library>\n'
        written, n = 0, 0
        while written < megabytes * 10**6:
            n += 1
            text = ('<book id="b%d" year="%d"><title>%s</title><author><name>%s</name></author>'
                    '<text lang="en">%s &amp; <b>%s</b></text></book>\n' %
                    (n, 1900 + n % 125, words(n, 4), words(n + 1, 2), words(n + 2, 12), words(n, 3)))
            written += len(text)
            yield text
        yield '</library>\n'
    return write_once(folder, 'document-%d.xml' % megabytes, pieces())


def sql_script(folder, thousands):
    """At most 300,000 rows per table; more rows go into a new table."""
    def pieces():
        yield 'create table word(n integer primary key, w text);\n'
        for n, word in enumerate(WORDS):
            yield "insert into word values(%d, '%s');\n" % (n, word)
        for start in range(0, thousands, 300):
            rows = min(300, thousands - start) * 1000
            yield ('create table item(id integer primary key, name text, kind text, value real);\n'
                   'begin;\n'
                   'with recursive c(i) as (select 1 union all select i+1 from c where i < %d)\n'
                   "  insert into item select i, 'item ' || (i * 7919 %% 1000003),\n"
                   '    (select w from word where n = i %% %d), i * 0.5 from c;\n'
                   'create index item_name on item(name);\n'
                   'create index item_kind on item(kind, value);\n'
                   'commit;\n'
                   'select kind, count(*), sum(value), max(name) from item group by kind order by 3;\n'
                   "select count(*) from item where upper(name) like 'ITEM 77%%';\n"
                   "update item set name = name || ' ' || kind where id %% 10 = 3;\n"
                   'delete from item where id %% 10 = 7;\n'
                   'select length(group_concat(name)) from item;\n'
                   'drop table item;\n' % (rows, len(WORDS)))
    return write_once(folder, 'rows-%d.sql' % thousands, pieces())


def source(folder, empty):
    return write_once(folder, 'empty.cpp' if empty else 'small.cpp', ['int nothing;\n'] if empty else [
        '#include <map>\n#include <string>\n'
        'int count(const std::map<std::string, int> &all) { return (int)all.count("x"); }\n'])


def redis_server(folder):
    """The package redis-tools contains the server under another name; the package redis-server would start one."""
    link = os.path.join(folder, 'redis-server')
    if not os.path.islink(link):
        os.symlink(shutil.which('redis-check-rdb') or 'redis-check-rdb', link)
    return link
