#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""workloads_test - servers under load, bare and recorded: their clients receive the same answers.

	workloads_test.py --heaplapse BIN NAME...

Each workload is a class that starts a server, sends it many requests and stops it. Every request is
a case, and so are the exit status of the server and the error count of its load generator. Answers
contain no times.
"""
import argparse
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from soak import Side, Table, clean_env, is_installed, tap

LIMIT = 120


class Workload:
    needs = ()

    def __init__(self, side, folder):
        self.side, self.folder = side, folder
        self.traces = os.path.join(folder, 'traces')
        self.answers = {}
        os.mkdir(self.traces)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def request(self, name, command, text=None, keep=None):
        """One case: status and output of a client, which is not recorded. The directory's name is replaced."""
        done = subprocess.run(command, input=text, cwd=self.folder, env=clean_env(HOME=self.folder), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors='surrogateescape', timeout=LIMIT)
        answer = done.stdout.replace(self.folder, 'FOLDER')
        if keep is not None:
            answer = '\n'.join(re.findall(keep, answer))
        self.answers[name] = (done.returncode, answer)
        return done

    def start(self, command):
        """Starts the server, or record with the server below it."""
        log = open(self.path('server.log'), 'w', encoding='utf-8')
        return subprocess.Popen(self.side.command(command, self.traces), cwd=self.folder,
                                env=clean_env(HOME=self.folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_for(self, command):
        deadline = time.monotonic() + LIMIT
        while subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > deadline:
                raise TimeoutError(f'{command}: not after {LIMIT} s')
            time.sleep(0.05)

    def end(self, server, pid_file=None, sig=None):
        """Sends a signal to the server itself, which may be below record or runuser, and waits for its end."""
        if pid_file:
            with open(self.path(pid_file), encoding='ascii') as file:
                os.kill(int(file.readline()), sig)
        try:
            self.answers['exit status'] = server.wait(LIMIT)
        except subprocess.TimeoutExpired:
            server.kill()
            self.answers['exit status'] = 'did not end'


class Redis(Workload):
    """redis-server, which links jemalloc: commands, a benchmark, two saves by fork, a script, a reload."""
    needs = ('redis-server', 'redis-cli', 'redis-benchmark')

    def commands(self):
        for i in range(60):
            yield f'SET k{i} {"v" * (i * i % 900)}'
            yield f'APPEND k{i} -{i}'
            yield f'RPUSH list{i % 5} {" ".join(str(n) for n in range(i))} end'
            yield f'ZADD z {i * 7919 % 100} m{i}'
            yield f'HSET h{i % 3} f{i} {i} g{i} {"g" * i}'
        yield from ('STRLEN k30', 'LRANGE list2 0 -1', 'ZRANGE z 0 -1 WITHSCORES', 'HGETALL h1', 'DBSIZE', 'INCR n',
                    'GETRANGE k40 0 40', 'SORT list1 ALPHA LIMIT 0 5', 'PFADD p a b c', 'PFCOUNT p', 'LPOP nothing',
                    'EVAL "local s = 0 for i = 1, 100000 do s = s + i end return s" 0', 'INCR k1', 'NOSUCHCOMMAND',
                    'SAVE', 'DEBUG RELOAD', 'DBSIZE', 'DEBUG DIGEST', 'MEMORY USAGE k59', 'OBJECT ENCODING h1')

    def run(self):
        socket = self.path('redis.sock')
        server = self.start(['redis-server', '--port', '0', '--unixsocket', socket, '--save', '', '--dir', self.folder,
                             '--appendonly', 'yes', '--enable-debug-command', 'yes'])
        cli = ['redis-cli', '-s', socket]
        self.wait_for([*cli, 'PING'])
        for number, command in enumerate(self.commands()):
            self.request(f'{number} {command[:40]}', cli, command + '\n')
        self.request('redis-benchmark', ['redis-benchmark', '-s', socket, '-q', '-n', '20000', '-c', '20', '-P', '4', '-t',
                                         'set,get,lpush,lrange_300,mset'], keep=r'^Error.*')
        for command, done in (('BGSAVE', 'rdb_bgsave_in_progress:0'), ('BGREWRITEAOF', 'aof_rewrite_in_progress:0')):
            self.request(command, [*cli, *command.split()])
            self.wait_for(['sh', '-c', f'redis-cli -s {socket} INFO persistence | grep -q {done}'])
        self.request('last saves', [*cli, 'INFO', 'persistence'], keep=r'(?:rdb_last_bgsave|aof_last_bgrewrite)_status:\w+')
        self.request('FLUSHALL', [*cli, 'FLUSHALL'])
        self.request('SHUTDOWN', [*cli, 'SHUTDOWN', 'NOSAVE'])
        self.end(server)


class Nginx(Workload):
    """nginx with two workers under wrk, reloaded twenty times meanwhile."""
    needs = ('nginx', 'wrk', 'curl')
    CONFIG = '''
daemon off; worker_processes 2; pid FOLDER/nginx.pid; error_log FOLDER/error.log;
events { worker_connections 256; }
http { access_log off; client_body_temp_path FOLDER/b; proxy_temp_path FOLDER/p; fastcgi_temp_path FOLDER/f;
  uwsgi_temp_path FOLDER/u; scgi_temp_path FOLDER/s; gzip on; gzip_min_length 1; gzip_types text/plain;
  server { listen 127.0.0.1:PORT; root FOLDER/www; location /r { return 301 /a.txt; } location = /e { return 418 "tea\\n"; }
    location /p/ { proxy_pass http://127.0.0.1:PORT/; } } }
'''

    def run(self):
        port = 20000 + os.getpid() % 20000
        os.mkdir(self.path('www'))
        os.chmod(self.folder, 0o755)
        for n in range(40):
            with open(self.path('www', f'{n}.txt'), 'w', encoding='ascii') as file:
                file.write(f'{n} ' * (n * n * 5 + 1))
        config = self.path('nginx.conf')
        with open(config, 'w', encoding='ascii') as file:
            file.write(self.CONFIG.replace('FOLDER', self.folder).replace('PORT', str(port)))
        url = f'http://127.0.0.1:{port}'
        server = self.start(['nginx', '-p', self.folder, '-c', config, '-e', self.path('error.log')])
        self.wait_for(['curl', '-sf', url + '/1.txt'])
        for n in range(41):
            for way in ('', 'p/'):
                self.request(f'/{way}{n}.txt', ['curl', '-s', '-w', '%{http_code} %{content_type}', f'{url}/{way}{n}.txt'])
            self.request(f'/{n}.txt packed', ['sh', '-c', f'curl -s -H "Accept-Encoding: gzip" {url}/{n}.txt | gzip -dc | md5sum'])
        for name in ('r', 'e', 'p/e', '../etc/passwd'):
            self.request(f'/{name}', ['curl', '-s', '--path-as-is', '-w', '%{http_code}', f'{url}/{name}'])
        load = subprocess.Popen(['wrk', '-t1', '-c16', '-d4', f'{url}/9.txt'], stdout=subprocess.PIPE, text=True)
        for _ in range(20):
            with open(self.path('nginx.pid'), encoding='ascii') as file:
                os.kill(int(file.read()), signal.SIGHUP)
            time.sleep(0.2)
        self.answers['wrk: answers that are not 2xx'] = re.findall('Non-2xx.*', load.communicate(timeout=LIMIT)[0])
        self.request('/2.txt after all', ['curl', '-s', url + '/2.txt'])
        self.end(server, 'nginx.pid', signal.SIGQUIT)


class Postgres(Workload):
    """initdb, a server with its processes, statements, pgbench, an orderly shutdown."""
    BIN = next(iter(glob.glob('/usr/lib/postgresql/*/bin/')), '/usr/lib/postgresql/bin/')
    needs = (BIN + 'postgres',)

    def statements(self):
        yield 'create table t (a int primary key, b text, c numeric)'
        for i in range(30):
            yield f"insert into t select n, md5(n::text), n / 7.0 from generate_series({i * 100}, {i * 100 + 99}) n"
            yield f'select count(*), sum(a), round(sum(c), 3), min(b) from t where a % {i + 2} = 0'
        yield from ('create index on t (b)', 'analyze t', "select a from t where b like 'a1%' order by a", 'vacuum full t',
                    'select * from nosuchtable', 'select 1 / 0', "select jsonb_agg(a order by a) from t where a < 50",
                    "select regexp_replace(b, '[0-9]+', '#', 'g') from t order by a limit 5",
                    'with recursive f(n, x) as (select 1, 1::numeric union all select n + 1, x * n from f where n < 50) '
                    'select max(x) from f', 'set work_mem = 64; select count(*) from (select b from t order by b) s',
                    "do $$ begin for i in 1..1000 loop perform i * i; end loop; end $$",
                    'begin; delete from t; rollback', 'select count(*) from t', 'select count(distinct b) from t',
                    'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; '
                    'set min_parallel_table_scan_size = 0; select count(*) from t where a > 5')

    def as_user(self, command):
        """initdb and postgres refuse to run as root."""
        return command if os.getuid() else ['runuser', '-u', 'postgres', '--', *command]

    def run(self):
        if not os.getuid():
            user = pwd.getpwnam('postgres')
            for name in (self.folder, self.traces):
                os.chown(name, user.pw_uid, user.pw_gid)
        self.side = AsUser(self.side, self.as_user)
        data = self.path('data')
        init = self.start([self.BIN + 'initdb', '-D', data, '-U', 'u', '-A', 'trust', '-N', '--no-instructions', '--locale=C'])
        self.answers['initdb'] = init.wait(LIMIT)
        server = self.start([self.BIN + 'postgres', '-D', data, '-k', self.folder, '-c', 'listen_addresses=', '-F'])
        reach = ['-h', self.folder, '-U', 'u']
        self.wait_for([self.BIN + 'pg_isready', *reach, '-d', 'postgres'])
        for number, statement in enumerate(self.statements()):
            self.request(f'{number} {statement[:40]}', ['psql', '-X', *reach, '-d', 'postgres', '-At', '-c', statement])
        self.request('pgbench -i', [self.BIN + 'pgbench', *reach, '-i', '-q', '-s', '1', 'postgres'], keep='(?i)error.*')
        self.request('pgbench', [self.BIN + 'pgbench', *reach, '-c', '4', '-t', '200', '-n', 'postgres'],
                     keep=r'number of (?:transactions actually processed|failed transactions).*|(?i:error).*')
        self.request('balances', ['psql', '-X', *reach, '-d', 'postgres', '-At', '-c',
                                  'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)'])
        self.end(server, 'data/postmaster.pid', signal.SIGINT)
        shutil.rmtree(data, ignore_errors=True)


class AsUser:
    """A side whose commands run as another user, including record and collector."""

    def __init__(self, side, as_user):
        self.side, self.as_user = side, as_user

    def command(self, command, traces):
        return self.as_user(self.side.command(command, traces))


WORKLOADS = {'redis': Redis, 'nginx': Nginx, 'postgres': Postgres}


def answers(workload, side):
    # in the world-writable temporary directory: other users must be able to access it
    with tempfile.TemporaryDirectory(prefix='heaplapse-soak-', ignore_cleanup_errors=True) as folder:
        work = workload(side, folder)
        work.run()
        return work.answers, len(os.listdir(work.traces))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--heaplapse', type=os.path.abspath, required=True)
    parser.add_argument('names', nargs='*', default=list(WORKLOADS))
    args = parser.parse_args()
    table = Table()
    for name in args.names:
        workload = WORKLOADS[name]
        missing = [program for program in workload.needs if not is_installed(program)]
        if missing:
            tap.skipped(name, f'{", ".join(missing)} is not installed')
            continue
        bare, _ = answers(workload, Side('bare'))
        recorded, traces = answers(workload, Side('recorded', args.heaplapse))
        wrong = [case for case in {**bare, **recorded} if bare.get(case) != recorded.get(case)]
        for case in wrong:
            tap.case(False, f'{name}: {case}', f'bare {bare.get(case)}\nrecorded {recorded.get(case)}')
        tap.case(not wrong, f'{name}: {len(bare)} answers')
        tap.case(traces > 0, f'{name}: was recorded')
        table.add(name, len(bare), len(bare) - len(wrong), len(wrong))
    table.finish()
    return tap.finish()


sys.exit(main())
