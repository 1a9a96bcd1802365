# SPDX-License-Identifier: Apache-2.0
"""programs - the programs that bench/programs/record builds and records: one row each.

`build` is run by sh in the unpacked sources, or for our own examples in the top directory; $OUT is
the directory for the result, $MAKE is "make -j JOBS". `built` names what it makes, by the name in
DIRECTORY/bin. A row without `build` is a program of Debian.
"""
import os
import shutil
from dataclasses import dataclass, field

import loads
from measuring import ROOT


@dataclass(frozen=True)
class Program:
    name: str
    command: object             # place -> the command that is recorded
    source: str = ''            # the source package
    build: str = ''
    built: dict = field(default_factory=dict)   # name in bin -> path below the sources, or below $OUT
    client: object = None       # (process, place): uses a server and ends it
    variables: dict = field(default_factory=dict)
    stripped: bool = False      # has no names of functions: rows have to say how to get them


def system(name):
    return shutil.which(name, path='/usr/bin:/bin') or '/usr/bin/' + name


def git_log(place):
    repository = loads.repository(place.inputs, place.program('git'))
    return [place.program('git'), '-C', repository, '--no-pager', 'log', '--stat', '-M', '--all']


def example(name, command, argument):
    return Program(name, lambda place: [place.program(name), argument], build=command,
                   built={name: name})


CFLAGS = "'-g -O2'"

PROGRAMS = [
    # zmalloc on libc's malloc; the bundled Lua and hiredis.
    Program('redis', lambda place: [place.program('redis-server'), '--port', '0', '--save', '', '--appendonly', 'no',
                                    '--unixsocket', os.path.join(place.inputs, 'redis.socket'), '--loglevel',
                                    'warning'],
            source='redis', client=loads.use_redis,
            build='$MAKE -C src MALLOC=libc USE_SYSTEMD=no BUILD_TLS=no redis-server redis-cli',
            built={'redis-server': 'src/redis-server', 'redis-cli': 'src/redis-cli'}),
    # As Debian builds it: no amalgamation, no lookaside allocator.
    Program('sqlite3', lambda place: [place.program('sqlite3'), '-batch', ':memory:',
                                      '.read ' + loads.rows(place.inputs)],
            source='sqlite3',
            build='./configure -q --disable-shared --disable-tcl --disable-readline --disable-amalgamation '
                  'CFLAGS="-g -O2 -fno-strict-aliasing -DSQLITE_OMIT_LOOKASIDE=1" && $MAKE sqlite3',
            built={'sqlite3': 'sqlite3'}),
    Program('git', git_log, source='git',
            build='$MAKE CFLAGS=' + CFLAGS + ' NO_GETTEXT=1 NO_CURL=1 NO_EXPAT=1 NO_OPENSSL=1 NO_PERL=1 NO_PYTHON=1 '
                  'NO_TCLTK=1 git',
            built={'git': 'git'}),
    Program('jq', lambda place: [place.program('jq'), '-c', 'group_by(.kind) | map({kind: .[0].kind, count: length, '
                                 'total: (map(.price) | add), names: (map(.name) | join(",") | length)})',
                                 loads.json_items(place.inputs)],
            source='jq',
            build='autoreconf -fi && ./configure -q --disable-docs --disable-shared --disable-maintainer-mode CFLAGS='
                  + CFLAGS + ' && $MAKE src/version.h src/builtin.inc && $MAKE jq',
            built={'jq': 'jq'}),
    Program('nginx', lambda place: [place.program('nginx'), '-p', loads.site(place.inputs), '-c', 'nginx.conf', '-e',
                                    'logs/error.log'],
            source='nginx', client=loads.use_nginx,
            build='./configure --with-cc-opt=' + CFLAGS + ' --with-threads && $MAKE -f objs/Makefile objs/nginx',
            built={'nginx': 'objs/nginx'}),
    Program('ledger', lambda place: [place.program('ledger'), '--no-pager', '--args-only', '-f',
                                     loads.journal(place.inputs), 'register', '--monthly', 'Expenses'],
            source='ledger',
            build='cmake -S . -B "$OUT" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=' + CFLAGS +
                  ' -DUSE_PYTHON=OFF -DBUILD_DOCS=OFF -DBUILD_LIBRARY=OFF && $MAKE -C "$OUT" ledger',
            built={'ledger': 'ledger'}),
    # The package python3.11-dbg has its names and lines. Every object is a block of malloc.
    Program('python', lambda place: ['/usr/bin/python3.11-dbg', loads.objects_script(os.path.join(ROOT, 'bench')), '2'],
            variables={'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0', 'PYTHONDONTWRITEBYTECODE': '1'}),
    example('logstats', 'cc -g -O2 -o "$OUT/logstats" examples/logstats.c', '100000'),
    example('orderbook', 'c++ -g -O2 -o "$OUT/orderbook" examples/orderbook.cpp', '100000'),
    example('groupby', 'rustc -g -O -o "$OUT/groupby" examples/groupby.rs', '20000'),
    # Debian's programs without debug information.
    Program('xmllint', lambda place: [system('xmllint'), '--noout', loads.document(place.inputs)], stripped=True),
    Program('gawk', lambda place: [system('gawk'), '{ n[$4]++; last[$2 " " $3] = $0 } END { for (w in n) print w, n[w]; '
                                   'print length(last) }', loads.journal(place.inputs)], stripped=True),
    Program('perl', lambda place: [system('perl'), '-ne', 'push @{$h{$1}}, $2 while /(\\w+):(\\w+)/g; '
                                   'END { print join(",", map { "$_=" . @{$h{$_}} } sort keys %h), "\\n" }',
                                   loads.journal(place.inputs)], stripped=True),
]
