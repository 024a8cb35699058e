"""Methods of Python's strings, written with their letters: `words.letters(text)` is the list of them."""

from backends.acrobat.library.words import joined, letters, spans

SPACES = r"[^\S\x1c-\x1f]*"
DIGITS = r"\d(?:_?\d)*"
INT = rf"{SPACES}[+-]?{DIGITS}{SPACES}"
FLOAT = (
    rf"{SPACES}[+-]?(?:(?:{DIGITS}\.?(?:{DIGITS})?|\.{DIGITS})(?:[eE][+-]?{DIGITS})?"
    rf"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]){SPACES}"
)
"""The strings of which `int` and `float` make numbers, as regular expressions."""
ENDS_OF_LINES = ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
"""The letters that end a line."""


def part(text, start, stop):
    """`text[start:stop]`, as a list takes such bounds."""
    return joined(letters(text)[start:stop])


def every(text, start, stop, step):
    """`text[start:stop:step]` for bounds that are there already."""
    all_letters = letters(text)
    return joined([all_letters[i] for i in range(start, stop, step)])


def place(text, part, start):
    """Where `part` begins in `text` at `start` or later; -1 if it does not."""
    inside, pattern = letters(text), letters(part)
    at = -1
    i = start
    while at < 0 and i + len(pattern) <= len(inside):
        if inside[i : i + len(pattern)] == pattern:
            at = i
        i += 1
    return at


def find(text, part):
    return place(text, part, 0)


def last(text, part):
    """Where `part` begins in `text` for the last time; -1 if it does not."""
    at = len(letters(text)) - len(letters(part))
    while at >= 0 and letters(text)[at : at + len(letters(part))] != letters(part):
        at -= 1
    return max(at, -1)


def begin(text, start):
    """The place in `text` that a search from `start` on begins at."""
    return max(start + len(letters(text)), 0) if start < 0 else start


def between(text, start, stop):
    return joined(letters(text)[start:stop])


def moved(at, by):
    """A place that was found in a part of a text, as one in the text."""
    return at + by if at >= 0 else at


def index_or_error(at):
    """`at`, where a string begins in another; raises ValueError where it is negative, which means that it is not there."""
    if at < 0:
        raise ValueError("substring not found")
    return at


def index(text, part):
    return index_or_error(find(text, part))


def last_index(text, part):
    return index_or_error(last(text, part))


def reads_as_int(text):
    """Whether `int(text)` gives an int."""
    return len(spans(INT, "fullmatch", text, 0)) > 0


def reads_as_float(text):
    """Whether `float(text)` gives a float."""
    return len(spans(FLOAT, "fullmatch", text, 0)) > 0


def text_of_tree(tree):
    """`repr` of a tree of tuples or lists, on all levels."""
    return f"{tree!r}"


def str_of_tree(tree):
    """`str` of such a tree: of a leaf that is a string the string itself."""
    return tree if isinstance(tree, str) else text_of_tree(tree)


def contains(text, part):
    return place(text, part, 0) >= 0


def before(text, other):
    """`text < other`: the first letters that differ decide, by their codes."""
    one, two = letters(text), letters(other)
    at = 0
    while at < len(one) and at < len(two) and one[at] == two[at]:
        at += 1
    if at == len(one) or at == len(two):
        return len(one) < len(two)
    return ord(one[at]) < ord(two[at])


def startswith(text, prefix):
    inside, pattern = letters(text), letters(prefix)
    return len(pattern) <= len(inside) and inside[: len(pattern)] == pattern


def endswith(text, suffix):
    inside, pattern = letters(text), letters(suffix)
    return len(pattern) <= len(inside) and inside[len(inside) - len(pattern) :] == pattern


def removeprefix(text, prefix):
    if startswith(text, prefix):
        return joined(letters(text)[len(letters(prefix)) :])
    return text


def removesuffix(text, suffix):
    if len(letters(suffix)) > 0 and endswith(text, suffix):
        return joined(letters(text)[: len(letters(text)) - len(letters(suffix))])
    return text


def lstrip(text, chars):
    """`text.lstrip(chars)`: without the letters at the beginning that are in `chars`."""
    inside, left_out = letters(text), letters(chars)
    start = 0
    while start < len(inside) and inside[start] in left_out:
        start += 1
    return joined(inside[start:])


def rstrip(text, chars):
    """`text.rstrip(chars)`: without the letters at the end that are in `chars`."""
    inside, left_out = letters(text), letters(chars)
    stop = len(inside)
    while stop > 0 and inside[stop - 1] in left_out:
        stop -= 1
    return joined(inside[:stop])


def strip(text, chars):
    return rstrip(lstrip(text, chars), chars)


def translate(text, old, new):
    """`text` with the letters that are in `old`, a constant tuple, replaced by the strings at their places in `new`."""
    return joined([new[old.index(letter)] if letter in old else letter for letter in letters(text)])


def count(text, part):
    size = len(letters(part))
    if size == 0:
        return len(letters(text)) + 1
    total = 0
    at = place(text, part, 0)
    while at >= 0:
        total += 1
        at = place(text, part, at + size)
    return total


def partition(text, separator):
    """`text.partition(separator)`, where `separator` is not empty."""
    at = place(text, separator, 0)
    if at < 0:
        return text, "", ""
    inside = letters(text)
    return joined(inside[:at]), separator, joined(inside[at + len(letters(separator)) :])


def rpartition(text, separator):
    """`text.rpartition(separator)`, where `separator` is not empty."""
    at = last(text, separator)
    if at < 0:
        return "", "", text
    inside = letters(text)
    return joined(inside[:at]), separator, joined(inside[at + len(letters(separator)) :])


def split(text, separator, most):
    """`text.split(separator, most)`, where `separator` is not empty; a negative `most` is any number."""
    inside, size = letters(text), len(letters(separator))
    parts = []
    start = 0
    at = place(text, separator, 0)
    while at >= 0 and len(parts) != most:
        parts.append(joined(inside[start:at]))
        start = at + size
        at = place(text, separator, start)
    parts.append(joined(inside[start:]))
    return parts


def rsplit(text, separator, most):
    """`text.rsplit(separator, most)`, where `separator` is not empty; a negative `most` is any number."""
    inside, size = letters(text), len(letters(separator))
    parts = []
    stop = len(inside)
    at = last(text, separator)
    while at >= 0 and len(parts) != most:
        parts.append(joined(inside[at + size : stop]))
        stop = at
        at = last(joined(inside[:stop]), separator)
    parts.append(joined(inside[:stop]))
    return parts[::-1]


def words_of(text):
    """`text.split()`: what stands between spaces."""
    parts = []
    word = []
    for letter in letters(text):
        if letter.isspace():
            if len(word) > 0:
                parts.append(joined(word))
            word = []
        else:
            word.append(letter)
    if len(word) > 0:
        parts.append(joined(word))
    return parts


def lines_of(text):
    """`text.splitlines()`: what stands between the ends of lines, of which "\r\n" is one."""
    lines = []
    line = []
    before = ""
    for letter in letters(text):
        if letter in ENDS_OF_LINES:
            if letter != "\n" or before != "\r":
                lines.append(joined(line))
            line = []
        else:
            line.append(letter)
        before = letter
    if len(line) > 0:
        lines.append(joined(line))
    return lines


def replace(text, old, new, most):
    """`text.replace(old, new, most)`, where `old` is not empty; a negative `most` is any number."""
    return join(new, split(text, old, most))


def join(separator, parts):
    between = []
    for i, one in enumerate(parts):
        if i > 0:
            between.append(separator)
        between.append(one)
    return joined(between)


def repeated(text, times):
    return joined([text for _ in range(times)])


def padding(text, width, fillchar):
    """What `text` lacks to `width` letters, in letters `fillchar`. Raises TypeError where that is not one letter."""
    if len(fillchar) != 1:
        raise TypeError("The fill character must be exactly one character long")
    return repeated(fillchar, width - len(text))


def ljust(text, width, fillchar):
    return text + padding(text, width, fillchar)


def rjust(text, width, fillchar):
    return padding(text, width, fillchar) + text


def center(text, width, fillchar):
    """`text.center(width, fillchar)`: of an odd number of letters the one left over stands on the left if `width` is odd."""
    lacking = padding(text, width, fillchar)
    left = (len(lacking) + width % 2) // 2
    return repeated(fillchar, left) + text + repeated(fillchar, len(lacking) - left)


def zfill(text, width):
    """`text.zfill(width)`: with noughts in front, which stand behind a sign."""
    zeros = padding(text, width, "0")
    if text[:1] == "+" or text[:1] == "-":
        return text[:1] + zeros + text[1:]
    return zeros + text


def ascii_codes(text):
    """`text.encode("ascii")`, as a list of ints."""
    codes = []
    for letter in letters(text):
        if ord(letter) > 127:
            raise UnicodeError(f"'ascii' codec cannot encode {letter!r}")
        codes.append(ord(letter))
    return codes


def utf8(text):
    """`text.encode()`, as a list of ints."""
    codes = []
    for letter in text:
        code = ord(letter)
        if code < 0x80:
            codes.append(code)
        elif code < 0x800:
            codes += [0xC0 | code >> 6, 0x80 | code & 0x3F]
        elif code < 0x10000:
            codes += [0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F]
        else:
            codes += [0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F]
    return codes
