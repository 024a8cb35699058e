"""Methods of Python's ints and floats that are made of operators."""


def conjugate(x):
    return x


def is_integer(x):
    return x - x == 0 and x // 1 == x  # infinities and NaN are no integers


def bit_length(n):
    """The number of halvings, towards zero, until nothing is left. Below zero, since -2**63 has no opposite."""
    below = -n if n > 0 else n
    count = 0
    while below < 0:
        below = (below + 1) >> 1
        count += 1
    return count


def bit_count(n):
    rest = abs(n)
    count = 0
    while rest > 0:
        rest = rest & (rest - 1)
        count += 1
    return count


def as_integer_ratio(x):
    """The numerator and denominator of a number, in lowest terms."""
    if x != x:
        raise ValueError("cannot convert NaN to integer ratio")
    if x - x != 0:
        raise OverflowError("cannot convert Infinity to integer ratio")
    denominator = 1
    while x // 1 != x:
        x = x * 2
        denominator = denominator * 2
    return int(x), denominator


METHODS = {x.__name__: x for x in (conjugate, is_integer, bit_length, bit_count, as_integer_ratio)}
