# SPDX-License-Identifier: Apache-2.0
"""pack_assets - the files of the page as C arrays, packed by gzip.

	pack_assets.py FILE... OUTPUT

The output has an array `assets` of struct hl_web_asset. The page itself, index.html, has the path "/".
"""
import gzip
import hashlib
import pathlib
import sys

*files, output = map(pathlib.Path, sys.argv[1:])
text, rows = '', ''
for i, file in enumerate(files):
    data = file.read_bytes()
    packed = gzip.compress(data, 9, mtime=0)
    # Octal escapes have three digits, so that a digit after one is no part of it.
    lines = (''.join(f'\\{byte:03o}' for byte in packed[at:at + 32]) for at in range(0, len(packed), 32))
    text += f'static const char packed_{i}[] =\n' + '\n'.join(f'"{line}"' for line in lines) + ';\n'
    path = '/' if file.name == 'index.html' else '/' + file.name
    rows += (f'\t{{"{path}", "{hashlib.sha256(data).hexdigest()[:32]}", (const unsigned char *)packed_{i}, '
             f'{len(packed)}, {len(data)}}},\n')
output.write_text(text + 'static const struct hl_web_asset assets[] = {\n' + rows + '};\n')
