"""serve - a server under a fixed number of requests, as one command that can be measured.

	bench/serve.py THOUSANDS COMMAND...      COMMAND starts redis-server on ./socket, recorded or not

Prints one line of JSON: wall_ns is what the client took for its requests, cpu_ns what the client and
this script used, which is not the server's. The server is asked to end, so that its recording is whole.
"""
import json
import os
import resource
import subprocess
import sys
import time

LIMIT_S = 60  # to start and to end: valgrind takes its time


def ask(*words):
    return subprocess.run(['redis-cli', '-s', 'socket', *words], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.strip()


def wait_until_up(server):
    end = time.monotonic() + LIMIT_S
    while ask('ping') != b'PONG':
        if server.poll() is not None or time.monotonic() > end:
            sys.exit('serve: the server does not answer')
        time.sleep(0.02)


def main():
    thousands, command = int(sys.argv[1]), sys.argv[2:]
    with subprocess.Popen(command, stdout=sys.stderr) as server:
        wait_until_up(server)
        began = time.monotonic_ns()
        subprocess.run(['redis-benchmark', '-s', 'socket', '-q', '-n', str(thousands * 1000), '-c', '20',
                        '-r', '100000', '-d', '64', '-P', '8', '-t', 'set,get,lpush,lpop,hset,zadd'],
                       check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic_ns() - began
        ask('shutdown', 'nosave')
        # Before the server is waited for: what it used is not ours.
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        status = server.wait()
    print(json.dumps({'wall_ns': wall,
                      'cpu_ns': int(sum(u.ru_utime + u.ru_stime for u in used) * 1e9)}))
    return status


if __name__ == '__main__':
    os.environ.pop('LD_PRELOAD', None)
    sys.exit(main())
