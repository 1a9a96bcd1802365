# SPDX-License-Identifier: Apache-2.0
"""quote - text files, one after the other, as a C string; and NAME_SHA256, by which a page may allow it.
Lines with a license are left out.

	quote.py TEXT... OUTPUT NAME
"""
import base64
import hashlib
import pathlib
import sys

*texts, output, name = sys.argv[1:]
lines = [line for text in texts for line in pathlib.Path(text).read_text(encoding='utf-8').splitlines()
         if 'SPDX-License-Identifier' not in line]
quoted = ('"' + line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') + '\\n"\n' for line in lines)
digest = hashlib.sha256(''.join(line + '\n' for line in lines).encode()).digest()
pathlib.Path(output).write_text(f'#define {name.upper()}_SHA256 "{base64.b64encode(digest).decode()}"\n'
                                f'static const char {name}[] =\n' + ''.join(quoted) + ';\n', encoding='utf-8')
