# SPDX-License-Identifier: Apache-2.0
"""pages - the output of a command on a terminal of a given size."""
import fcntl, os, pty, re, struct, subprocess, termios


def on_terminal(command, columns, env=None, cwd=None):
    """Returns (output, status). stdout and stderr are the terminal; the pager is off."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    environment = {k: v for k, v in os.environ.items() if k not in ('COLUMNS', 'NO_COLOR', 'CLICOLOR_FORCE', 'FORCE_COLOR')}
    environment.update({'TERM': 'xterm', 'HEAPLAPSE_PAGER': '', 'PAGER': 'cat', **(env or {})})
    # Commands that are shown begin with the name, not with the path of the build.
    process = subprocess.Popen([os.path.basename(command[0]), *command[1:]], executable=command[0], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=environment, cwd=cwd)
    os.close(slave)
    output = b''
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal has no writer any more
            break
        if not part:
            break
        output += part
    os.close(master)
    return output.decode(), process.wait()


def plain(text):
    return re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', text)


def too_long(text, columns):
    """The lines that are wider than the terminal."""
    return [line for line in plain(text).split('\n') if len(line.rpartition('\r')[2]) > columns]
