"""quote - a text file as a C string.

	quote.py TEXT OUTPUT NAME
"""
import pathlib
import sys

lines = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').splitlines()
quoted = ('"' + line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') + '\\n"\n' for line in lines)
pathlib.Path(sys.argv[2]).write_text(f'static const char {sys.argv[3]}[] =\n' + ''.join(quoted) + ';\n', encoding='utf-8')
