# SPDX-License-Identifier: Apache-2.0
"""tree_files - the files of the project, for the checks in this directory."""
import subprocess


def files(top):
    """Paths relative to `top`, a pathlib.Path. Without git, as in a release, all files except those of builds."""
    out = subprocess.run(['git', '-C', top, 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True)
    if out.returncode == 0:
        return out.stdout.splitlines()
    names = (path.relative_to(top) for path in top.rglob('*') if path.is_file())
    return sorted(name.as_posix() for name in names
                  if not name.parts[0].startswith('build') and '__pycache__' not in name.parts)
