"""Numbers and strings: their operators, and Python's functions and methods of them.

`operators.py`, then `numbers.py`; `strings.py` for strings that are known at run time only, `formatting.py` for texts that show
values and `text_fields.py` for `format` and `%`, `regex.py` for Python's `re`, `checksums.py` for `zlib`'s.
"""
