"""quote - a text file as a C string literal.

	quote.py TEXT OUTPUT
"""
import pathlib
import sys

lines = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').splitlines()
quoted = ('"' + line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') + '\\n"\n' for line in lines)
pathlib.Path(sys.argv[2]).write_text(''.join(quoted), encoding='utf-8')
