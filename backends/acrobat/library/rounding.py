"""How Python rounds numbers."""

from backends.acrobat.library.words import refuse


def rounded(number, ndigits=None):
    """`round(number)` and `round(number, ndigits)`."""
    if ndigits is None:
        return nearest_int(number)
    if ndigits < 0 or ndigits > 22:
        refuse("a number of digits that is negative or above 22")
    if isinstance(number, int):
        return number
    return nearest_decimal(number, 10.0**ndigits)


def nearest_decimal(number, scale):
    """The multiple of `1 / scale`, a power of ten, that is nearest to `number`, and of two that are equally near the even one.
    Where the product with `scale` is rounded to half a number, its error (Dekker 1971) tells which one is nearer."""
    scaled = number * scale
    if abs(scaled) >= 9007199254740992.0:  # 2**53: the numbers beside it are further away than half a digit
        return number
    low = scaled // 1.0
    above = scaled - low
    if above == 0.5:
        high = 134217729.0 * number - (134217729.0 * number - number)
        rest = number - high
        scale_high = 134217729.0 * scale - (134217729.0 * scale - scale)
        scale_rest = scale - scale_high
        error = ((high * scale_high - scaled) + high * scale_rest + rest * scale_high) + rest * scale_rest
        if error > 0.0 or (error == 0.0 and low % 2.0 == 1.0):
            low = low + 1.0
    elif above > 0.5:
        low = low + 1.0
    if low == 0.0 and number < 0.0:
        return -0.0
    return low / scale


def nearest_int(number):
    """The nearest int, and of two that are equally near the even one."""
    low = int(number // 1)
    above = number - low
    if above > 0.5:
        return low + 1
    if above < 0.5:
        return low
    return low + low % 2
