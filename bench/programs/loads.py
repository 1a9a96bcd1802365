# SPDX-License-Identifier: Apache-2.0
"""loads - the fixed input of each program in programs.py, and the clients of the servers.

All of it is made from bench/inputs.py's words: it is the same on every machine and in every run.
"""
import hashlib
import http.client
import os
import signal
import socket
import subprocess
import time

from inputs import sql_script, words, write_once, xml_document
from measuring import Failed

LIMIT_S = 60  # for a server to start or to stop


def json_items(folder):
    def pieces():
        yield '[\n'
        for n in range(30000):
            yield ('%s{"id": %d, "kind": "%s", "name": "%s", "price": %d.%02d, "tags": ["%s", "%s"]}\n' %
                   (',' * (n > 0), n, words(n % 23, 1), words(n, 3), n * 37 % 900, n % 100,
                    words(n + 1, 1), words(n + 2, 1)))
        yield ']\n'
    return write_once(folder, 'items.json', pieces())


def journal(folder):
    def pieces():
        for n in range(12000):
            day, month, year = n % 28 + 1, n // 28 % 12 + 1, 2000 + n // 400
            yield ('%d-%02d-%02d * %s\n    Expenses:%s:%s    $%d.%02d\n    Assets:Bank:%s\n\n' %
                   (year, month, day, words(n, 3), words(n % 31, 1).title(), words(n % 7, 1).title(),
                    n * 13 % 700, n % 100, words(n % 3, 1).title()))
    return write_once(folder, 'journal.dat', pieces())


def commands_of_redis(folder):
    """Texts, hashes, lists and sets; a part of the texts is deleted again."""
    def pieces():
        for n in range(40000):
            yield 'SET page:%d "%s"\n' % (n, words(n, 20))
            if n % 4 == 0:
                yield 'HSET user:%d name "%s" mail "%s" visits %d\n' % (n, words(n, 2), words(n + 1, 3), n)
                yield 'RPUSH queue:%d "%s"\n' % (n % 50, words(n, 8))
                yield 'ZADD scores %d "%s %d"\n' % (n * 7919 % 100003, words(n, 2), n)
            yield 'GET page:%d\n' % (n * 31 % (n + 1))
        for n in range(0, 40000, 2):
            yield 'DEL page:%d\n' % n
    return write_once(folder, 'commands.redis', pieces())


def history(folder):
    """A history of 1,000 commits of 200 files, as input for git fast-import."""
    def blob(text):
        return 'data %d\n%s\n' % (len(text), text)

    def pieces():
        for n in range(1000):
            yield ('commit refs/heads/main\ncommitter A U Thor <a@example.org> %d +0000\n' %
                   (1500000000 + n * 3600))
            yield blob('%s\n\n%s\n' % (words(n, 5), words(n + 3, 30)))
            for k in range(200 if n == 0 else 6):
                number = (n * 17 + k * 29) % 200
                text = ''.join('%s\n' % words(number * 50 + line + (n if line % 40 == n % 40 else 0), 9)
                               for line in range(100))
                yield 'M 100644 inline dir%d/file%d.txt\n%s' % (number % 10, number, blob(text))
    return write_once(folder, 'history.import', pieces())


def repository(folder, git):
    """A repository with that history, in one pack."""
    place = os.path.join(folder, 'repository.git')
    if os.path.isdir(place):
        return place
    env = dict(os.environ, GIT_EXEC_PATH=os.path.dirname(os.path.realpath(git)), GIT_CONFIG_NOSYSTEM='1',
               GIT_CONFIG_GLOBAL='/dev/null')
    new = place + '.new'

    def run(*command, **more):
        subprocess.run([git, *command], check=True, env=env, stdout=subprocess.DEVNULL, **more)

    run('init', '-q', '--bare', '--template=', '-b', 'main', new)
    with open(history(folder), 'rb') as stream:
        run('-C', new, 'fast-import', '--quiet', stdin=stream)
    run('-C', new, 'repack', '-adfq', '--threads=1')
    os.rename(new, place)
    return place


def site(folder):
    """A configuration and documents for nginx."""
    top = os.path.join(folder, 'nginx')
    for name in ('logs', 'html', 'client_body'):
        os.makedirs(os.path.join(top, name), exist_ok=True)
    # Text that compresses badly: its answers do not fit into the socket's buffer, so they are all open at once.
    digests = (hashlib.sha256(b'%d' % n).hexdigest() + '\n' for n in range(40000))
    write_once(os.path.join(top, 'html'), 'large.txt', digests)
    write_once(os.path.join(top, 'html'), 'small.html', ['<p>%s</p>\n' % words(1, 200)])
    write_once(top, 'nginx.conf', ['''daemon off;
master_process off;
pid logs/nginx.pid;
error_log logs/error.log;
events { worker_connections 512; }
http {
	access_log off;
	gzip on;
	gzip_types text/plain;
	client_body_temp_path client_body;
	server {
		listen unix:%s;
		root html;
		keepalive_requests 10000;
	}
}
''' % os.path.join(top, 'socket')])
    return top


def objects_script(bench):
    return os.path.join(bench, 'objects.py')


def rows(folder):
    return sql_script(folder, 60)


def document(folder):
    return xml_document(folder, 3)


def wait_for_socket(server, path):
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                return
        except OSError:
            time.sleep(0.02)
    raise Failed('the server does not answer at ' + path)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def use_redis(server, place):
    """20 clients are connected while one sends the commands."""
    path = os.path.join(place.inputs, 'redis.socket')
    wait_for_socket(server, path)
    idle = []
    for _ in range(20):
        idle.append(socket.socket(socket.AF_UNIX))
        idle[-1].connect(path)
        idle[-1].sendall(b'PING\r\n')
        idle[-1].recv(100)
    client = [place.program('redis-cli'), '-s', path]
    with open(commands_of_redis(place.inputs), 'rb') as commands:
        subprocess.run(client, check=True, stdin=commands, stdout=subprocess.DEVNULL)
    subprocess.run(client + ['shutdown', 'nosave'], check=True, stdout=subprocess.DEVNULL)
    for s in idle:
        s.close()


def use_nginx(server, place):
    """2,000 small requests on one connection, then 40 compressed answers that are being sent at once."""
    path = os.path.join(place.inputs, 'nginx', 'socket')
    wait_for_socket(server, path)
    one = UnixConnection(path)
    for n in range(2000):
        one.request('GET', '/small.html?%d' % n if n % 10 else '/missing/%d' % n)
        one.getresponse().read()
    many = [UnixConnection(path) for _ in range(40)]
    for connection in many:
        connection.request('GET', '/large.txt', headers={'Accept-Encoding': 'gzip'})
    for answer in [connection.getresponse() for connection in many]:
        answer.read()
    for connection in many + [one]:
        connection.close()
    with open(os.path.join(place.inputs, 'nginx', 'logs', 'nginx.pid'), encoding='ascii') as file:
        os.kill(int(file.read()), signal.SIGQUIT)
