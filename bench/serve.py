# SPDX-License-Identifier: Apache-2.0
"""serve - runs a server and a fixed number of requests as one command that can be measured.

	bench/serve.py THOUSANDS COMMAND...      COMMAND starts redis-server on ./socket, recorded or not

Prints one line of JSON: wall_ns is the time of the client's requests, cpu_ns the CPU time of the
client and this script, without the server. The server is shut down by a command, so that its
recording is complete.
"""
import json
import os
import resource
import subprocess
import sys
import time

LIMIT_S = 60  # to start and to stop: valgrind is slow


def redis_cli(*words):
    return subprocess.run(['redis-cli', '-s', 'socket', *words], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.strip()


def wait_until_up(server):
    end = time.monotonic() + LIMIT_S
    while redis_cli('ping') != b'PONG':
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
        redis_cli('shutdown', 'nosave')
        # Read before wait(), which would add the server's usage.
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        status = server.wait()
    print(json.dumps({'wall_ns': wall,
                      'cpu_ns': int(sum(u.ru_utime + u.ru_stime for u in used) * 1e9)}))
    return status


if __name__ == '__main__':
    os.environ.pop('LD_PRELOAD', None)
    sys.exit(main())
