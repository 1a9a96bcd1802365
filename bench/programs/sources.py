# SPDX-License-Identifier: Apache-2.0
"""sources - sources of Debian packages, without a change to this machine's apt.

The machine's own package sources are copied with `deb` replaced by `deb-src`. apt keeps their
indexes below the given directory, because APT_CONFIG names a configuration there. The machine's
settings (mirror, proxy, certificates) stay in force.
"""
import glob
import os
import re
import subprocess

from measuring import Failed

ETC = '/etc/apt'
CONFIG = '''Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "%(place)s/sources.list.d";
Dir::State::lists "%(place)s/lists";
Dir::Cache "%(place)s/cache";
APT::Sandbox::User "";
'''


def as_source_list(name, text):
    """The lines of a file of package sources, for sources only."""
    if name.endswith('.sources'):
        return re.sub(r'(?m)^Types:.*$', 'Types: deb-src', text)
    found = re.findall(r'(?m)^deb(?:-src)?(\s.*)$', text)
    return ''.join('deb-src%s\n' % rest for rest in dict.fromkeys(found))


class Apt:
    def __init__(self, place):
        self.place = place
        self.env = dict(os.environ, APT_CONFIG=os.path.join(place, 'apt.conf'))

    def run(self, *command, cwd=None):
        done = subprocess.run(command, check=False, env=self.env, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode(errors='replace')

    def prepare(self):
        """Writes the configuration and reads the indexes, once."""
        if os.path.exists(self.env['APT_CONFIG']):
            return
        for name in ('sources.list.d', 'lists/partial', 'cache/archives/partial'):
            os.makedirs(os.path.join(self.place, name), exist_ok=True)
        for path in glob.glob(ETC + '/sources.list') + glob.glob(ETC + '/sources.list.d/*.list') + \
                glob.glob(ETC + '/sources.list.d/*.sources'):
            with open(path, encoding='utf-8') as file:
                text = as_source_list(path, file.read())
            with open(os.path.join(self.place, 'sources.list.d', os.path.basename(path)), 'w',
                      encoding='utf-8') as file:
                file.write(text)
        with open(self.env['APT_CONFIG'] + '.new', 'w', encoding='utf-8') as file:
            file.write(CONFIG % {'place': self.place})
        self.env['APT_CONFIG'] += '.new'
        status, output = self.run('apt-get', '-q', 'update')
        if status:
            raise Failed('apt-get update failed for the sources: ' + output[-2000:])
        os.replace(self.env['APT_CONFIG'], os.path.join(self.place, 'apt.conf'))
        self.env['APT_CONFIG'] = os.path.join(self.place, 'apt.conf')

    def versions(self, package):
        """All versions of a source package, newest first. A mirror may lack the newest."""
        _, output = self.run('apt-cache', 'showsrc', '--only-source', package)
        found = list(dict.fromkeys(re.findall(r'(?m)^Version: (\S+)$', output)))
        _, order = self.run('sh', '-c', 'printf "%s\\n" "$@" | sort -rV', 'sh', *found)
        return order.split()

    def unpack(self, package, folder):
        """The directory with the patched sources of a package, below `folder`."""
        os.makedirs(folder, exist_ok=True)
        tried = ''
        for version in self.versions(package):
            upstream = re.sub(r'^\d+:', '', version).rpartition('-')[0]
            tree = os.path.join(folder, '%s-%s' % (package, upstream))
            if os.path.isdir(tree):
                return tree
            status, tried = self.run('apt-get', '-q', 'source', '--only-source', '%s=%s' % (package, version),
                                     cwd=folder)
            if status == 0 and os.path.isdir(tree):
                return tree
        raise Failed('apt-get source %s failed: %s' % (package, tried[-2000:] or 'apt knows no source of that name'))
