# SPDX-License-Identifier: Apache-2.0
"""programs - scripts that use third-party programs, to be run bare and recorded.

A row is (name, tier, programs that it needs, script for /bin/sh). The script runs in a temporary
directory with the files that make_files() writes, and its output is the same each time.
"""
import os

FAST, SLOW = 'fast', 'slow'

SQL = '''
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into t select i, printf('row %05d', i * 7919 % 3001), i / 7.0 from n;
create index b on t(b);
select count(*), sum(a), max(b) from t where b like '%7%';
delete from t where a % 3 = 0;
select a, b from t order by b desc limit 5;
vacuum;
pragma integrity_check;
select group_concat(a) from (select a from t order by c limit 20);
select nosuchcolumn from t;
'''

BASH = '''
declare -A count
while read -r word rest; do count[${#word}]=$(( ${count[${#word}]:-0} + 1 )); done <words
for k in $(printf '%s\\n' "${!count[@]}" | sort -n); do echo "$k ${count[$k]}"; done
f() { local x=$1; (( x > 0 )) && f $((x - 1)); return $x; }
f 50; echo "f gave $?"
trap 'echo usr1' USR1; kill -USR1 $$
( trap 'echo leaving' EXIT; exit 3 ); echo "subshell gave $?"
coproc cat; echo through >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
exec {COPROC[1]}>&-; wait "$COPROC_PID"
diff <(sort words | head -5) <(sort words | head -6)
echo "${BASH_VERSINFO[0]}"; shopt -s extglob; echo *.@(json|xml)
{ echo to stderr >&2; exit 5; }
'''

PERL = r'''
use strict; use warnings; use POSIX ();
my %h; open my $f, '<', 'words' or die; while (<$f>) { chomp; push @{$h{length $_}}, $_ } close $f;
print join(' ', map { "$_:" . @{$h{$_}} } sort { $a <=> $b } keys %h), "\n";
my $text = join ' ', sort map { @$_ } values %h; my $n = () = $text =~ /(\w)(\w)\w*\2\1/g; print "$n\n";
my $pid = fork; if (!$pid) { my @x = map { "x$_" } 1 .. 1000; exit scalar(@x) % 7 } waitpid $pid, 0;
print $? >> 8, "\n"; local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; POSIX::pause();
eval { die { code => 42 } }; print $@->{code}, "\n"; print `echo from a shell`; warn "a warning\n"; exit 3;
'''

PYTHON = '''
import collections, json, os, subprocess, sys, threading, zlib
data = json.load(open('data.json'))
print(sum(row['n'] for row in data), zlib.crc32(json.dumps(data, sort_keys=True).encode()))
out = []
def work(k):
    out.append((k, sum(len(str(i)) for i in range(k * 1000))))
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(out))
print(subprocess.run([sys.executable, '-c', 'import os; print(sorted(os.listdir("/proc/self/fd")))'],
                     capture_output=True, text=True).stdout)
pid = os.fork()
if not pid:
    x = [bytes(1000) for _ in range(1000)]
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(collections.Counter(word.strip()[0] for word in open('words')).most_common(3))
raise SystemExit(4)
'''

NODE = '''
const { Worker, isMainThread } = require('worker_threads');
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
const rows = JSON.parse(fs.readFileSync('data.json'));
console.log(rows.length, rows.map(r => r.s).sort()[5]);
console.log(crypto.createHash('sha256').update(fs.readFileSync('words')).digest('hex'));
console.log(zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(100000, 'abc'))).length);
const w = new Worker("require('worker_threads').parentPort.postMessage([...Array(50000).keys()].map(String).join('').length)", { eval: true });
w.on('message', m => { console.log(m); console.error('done'); process.exitCode = 6; });
'''

C = '''
#include <stdio.h>
#include <stdlib.h>
#define F(n) static int f##n(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * n ^ (s >> 3); return s; }
F(1) F(2) F(3) F(5) F(7) F(11) F(13) F(17)
int main(void) { printf("%d\\\\n", f1(9) + f2(8) + f3(7) + f5(6) + f7(5) + f11(4) + f13(3) + f17(2)); return 2; }
'''

CXX = '''
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main() { std::map<std::string, int> m; for (int i = 0; i < 1000; i++) m[std::to_string(i * 7919 % 1000)] = i;
  std::cout << m.size() << ' ' << m["17"] << ' ' << std::regex_replace(std::string("a1b22"), std::regex("[0-9]+"), "#") << '\\\\n'; }
'''

MAKE = '''
all: a.o b.o c.o d.o e.o f.o
\tld -r -o all.o $^ && size all.o | tail -n 1 | cut -f 1-4
%.o: prog.c
\t@$(CC) -O1 -Dmain=main_$* -c -o $@ $<
'''

JAVA = '''
import java.util.*; import java.util.concurrent.*; import java.util.stream.*;
class Prog { public static void main(String[] a) throws Exception {
  ExecutorService e = Executors.newFixedThreadPool(4); List<Future<Long>> f = new ArrayList<>();
  for (int k = 1; k <= 8; k++) { final int n = k; f.add(e.submit(() -> LongStream.range(0, n * 10000L).map(x -> x * x % 7).sum())); }
  for (Future<Long> x : f) System.out.println(x.get()); e.shutdown();
  System.out.println(new TreeMap<>(IntStream.range(0, 5000).boxed().collect(Collectors.groupingBy(x -> x % 7, Collectors.counting()))));
  System.err.println("done"); System.exit(5); } }
'''

PROGRAMS = [
    ('sqlite3', FAST, 'sqlite3', 'sqlite3 :memory: <q.sql; echo $?; sqlite3 f.db <q.sql >/dev/null 2>&1; sqlite3 f.db .dump | md5sum'),
    ('jq', FAST, 'jq', "jq -S 'group_by(.n % 7) | map({n: length, s: (map(.s) | sort | first)})' data.json; jq .x[ data.json; echo $?"),
    ('bash', FAST, 'bash', 'bash script.bash'),
    ('dash', FAST, 'dash', 'dash -c \'for i in 1 2 3 4 5; do (echo $i; exit $i) | cat; done; set -- a "b c"; echo "$#:$2"; ls nothing; exit 4\''),
    ('perl', FAST, 'perl', 'perl script.pl'),
    ('awk', FAST, 'awk', "awk '{n[length($1)]++} END {for (k in n) print k, n[k] | \"sort -n\"; close(\"sort -n\"); exit 3}' words"),
    ('python3', FAST, '/usr/bin/python3', '/usr/bin/python3 script.py'),
    ('gcc', FAST, 'gcc', 'gcc -O2 -o p prog.c && ./p; echo $?; gcc -O2 -c -o p.o prog.c && md5sum p.o; echo "int x = ;" | gcc -xc -c -o /dev/null -; exit $?'),
    ('g++', FAST, 'g++', 'g++ -O0 -o px prog.cc && ./px'),
    ('clang', FAST, 'clang', 'clang -O2 -c -o p.o prog.c && md5sum p.o; echo "int x = ;" | clang -xc -c -o /dev/null -; exit $?'),
    ('tar', FAST, 'tar', 'tar --sort=name --mtime=@0 --owner=0 --group=0 -czf t.tgz words data.json prog.c && tar -tvzf t.tgz && mkdir x && tar -C x -xzf t.tgz && cmp words x/words; tar -xf nothing.tar'),
    ('gzip', FAST, 'gzip', 'gzip -9nk words; md5sum words.gz; gzip -dc words.gz | cmp - words; gzip -d nothing.gz'),
    ('sort', FAST, 'sort', 'sort --parallel=4 -S 1M -u words words words | md5sum; sort -k1,1r words | head -n 3; sort nothing'),
    ('find', FAST, 'find', 'find /usr/include -maxdepth 1 -name "s*.h" | sort | head; find . -newer nothing'),
    ('grep', FAST, 'grep', 'grep -cE "a.*(b|c).*d?" words; grep -n zzzzzz words; echo $?; grep -P "(\\w)\\1" words | wc -l; grep x nothing'),
    ('sed', FAST, 'sed', "sed -nE 's/(.)(.*)/\\2\\1/; /a$/p' words | head -n 4; sed -e 'b nowhere' words"),
    ('diff', FAST, 'diff', 'sort words >s; diff -u words s | tail -n +3 | md5sum; diff words nothing'),
    ('readelf', FAST, 'readelf', 'readelf -WSs /bin/true | md5sum; readelf -a words; nm -D /bin/cat | wc -l'),
    ('m4', SLOW, 'm4', 'echo "define(f, \\`ifelse(\\$1, 0, 1, \\`eval(\\$1 * f(decr(\\$1)))\')\')f(10)" | m4'),
    ('zsh', FAST, 'zsh', 'zsh -fc \'typeset -A a; a=(x 1 y 2); print ${(ok)a}; print -l *.json(N); (exit 7); echo $?; nosuchcommand; exit 2\''),
    ('mandoc', FAST, 'mandoc', 'mandoc -T ascii page.1 | md5sum; mandoc -T lint page.1'),
    ('ls', FAST, 'ls', 'ls -1 /usr/include | head; ls -la nothing; exit $?'),
    ('cp mv rm', FAST, 'cp', 'mkdir d; cp words data.json d; mv d/words d/w; ls d; rm -r d; rm d; cp nothing x'),
    ('dpkg', FAST, 'dpkg-query', 'dpkg-query -W -f "\\${Package} \\${Version}\\n" libc6 gcc; dpkg-query -s nosuchpackage'),
    ('xxd od', FAST, 'od', 'od -A d -t x1z words | head -n 5; head -c 1000 words | md5sum; base64 words | tail -n 1'),
    ('gawk', SLOW, 'gawk', "gawk 'BEGIN {PROCINFO[\"sorted_in\"] = \"@ind_num_asc\"} {n[length($1)]++} END {for (k in n) print k, n[k]}' words"),
    ('git', SLOW, 'git', 'export GIT_AUTHOR_DATE="2001-01-01T00:00:00Z" GIT_COMMITTER_DATE="2001-01-01T00:00:00Z" GIT_CONFIG_NOSYSTEM=1;'
     ' git init -q r && cd r && git config user.name a && git config user.email a@b && cp ../words ../prog.c . && git add . && git commit -qm one &&'
     ' sort words >w && mv w words && git commit -qam two && git log --stat --format="%H %s" && git diff HEAD~ | md5sum && git gc -q && git fsck --full &&'
     ' git clone -q . ../c && git blame words | md5sum; git grep -c a; git checkout nothing'),
    ('make -j4, gcc', SLOW, 'make', 'make -s -j4 CC=gcc; make -s nothing'),
    ('make -j4, clang', SLOW, 'make', 'make -s -j4 CC=clang'),
    ('xmllint', SLOW, 'xmllint', 'xmllint --format data.xml | md5sum; xmllint --xpath "count(//row)" data.xml; echo "<a>" | xmllint -'),
    ('xz', SLOW, 'xz', 'xz -T2 -k --block-size=20000 words; md5sum words.xz; xz -dc words.xz | cmp - words; xz -t words'),
    ('zstd', SLOW, 'zstd', 'zstd -q -T2 -19 words; md5sum words.zst; zstd -dcq words.zst | cmp - words; zstd -qt words'),
    ('bzip2', SLOW, 'bzip2', 'bzip2 -k words; md5sum words.bz2; bzip2 -dc words.bz2 | cmp - words; bzip2 -t words'),
    ('openssl', SLOW, 'openssl', 'openssl dgst -sha512 words; openssl enc -aes-256-cbc -K 00 -iv 00 -in words 2>/dev/null | md5sum; openssl prime 1000003; openssl x509 -in words 2>&1 | cut -d: -f2-'),
    ('ssh-keygen', SLOW, 'ssh-keygen', 'ssh-keygen -l -f key.pub; ssh-keygen -l -f words'),
    ('curl', SLOW, 'curl', 'curl -s "file://$PWD/words" | md5sum; curl -sS http://127.0.0.1:1/; echo $?; curl --version | tail -n 1'),
    ('node', SLOW, 'node', 'node script.js'),
    ('java', SLOW, 'java', 'java -Xshare:auto -version; java Nothing'),
    ('javac and java', SLOW, 'javac', 'javac Prog.java && java -Xmx64m Prog'),
    ('tclsh', SLOW, 'tclsh', 'echo \'proc f {n} {expr {$n < 2 ? $n : [f [expr {$n-1}]] + [f [expr {$n-2}]]}}; puts [f 18]; puts [llength [split [read [open words]] "\\n"]]; error oops\' >s.tcl; tclsh s.tcl'),
    ('bc', SLOW, 'bc', 'echo "scale=200; 4*a(1); 2^521-1; 1/0" | bc -l'),
    ('file', SLOW, 'file', 'file words prog.c data.xml /bin/true'),
]


def make_files(folder):
    def write(name, text):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)

    state, words = 1, []
    for _ in range(20000):
        word = ''
        for _ in range(2 + state % 9):
            state = (state * 1103515245 + 12345) % (1 << 31)
            word += 'etaoinshrdlu'[(state >> 16) % 12]
        words.append(word)
    write('words', '\n'.join(words) + '\n')
    rows = [{'n': i, 's': words[i], 'x': [i / 8, None, {'deep': words[-i]}]} for i in range(2000)]
    write('data.json', str(rows).replace("'", '"').replace('None', 'null'))
    write('data.xml', '<rows>' + ''.join(f'<row n="{r["n"]}"><s>{r["s"]}</s></row>' for r in rows) + '</rows>')
    write('q.sql', SQL)
    write('script.bash', BASH)
    write('script.pl', PERL)
    write('script.py', PYTHON)
    write('script.js', NODE)
    write('prog.c', C.replace('\\\\', '\\'))
    write('prog.cc', CXX.replace('\\\\', '\\'))
    write('Makefile', MAKE)
    write('Prog.java', JAVA)
    write('page.1', '.TH A 1 2001-01-01\n.SH NAME\na \\- b\n.SH TEXT\n' + '\n'.join(words[:500]) + '\n.BAD macro\n')
    write('key.pub', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f a@b\n')
