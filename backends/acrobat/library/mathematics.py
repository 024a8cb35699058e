"""Functions of Python's module `math` on numbers, made of those that are operations of the host (`core.ops.MATH`)."""

import math


def floor(x):
    return int(x // 1)


def ceil(x):
    return -int(-x // 1)


def trunc(x):
    return int(x)


def fabs(x):
    return abs(float(x))


def copysign(x, y):
    is_negative = y < 0 or y == 0 and str(float(y)) == "-0.0"
    return -abs(float(x)) if is_negative else abs(float(x))


def isnan(x):
    return x != x


def isinf(x):
    return abs(x) == math.inf


def isfinite(x):
    return abs(x) < math.inf


def isclose(a, b, *, rel_tol=1e-9, abs_tol=0.0):
    if a == b:
        return True
    if abs(a) == math.inf or abs(b) == math.inf:
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root > 0 and root > n // root:
        root = root - 1
    while root + 1 <= n // (root + 1):
        root = root + 1
    return root


def log_to_base(x, base):
    return math.log(x) / math.log(base)


def prod(items, *, start=1):
    total = start
    for item in items:
        total = total * item
    return total


def gcd(a, b):
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def degrees(x):
    return x * (180.0 / math.pi)


def radians(x):
    return x * (math.pi / 180.0)


def lcm(a, b):
    return 0 if a == 0 or b == 0 else abs(a // gcd(a, b) * b)


def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for i in range(2, n + 1):
        product = product * i
    return product


def perm(n, k):
    if n < 0 or k < 0:
        raise ValueError("perm() takes no negative numbers")
    product = 1
    for i in range(k if k <= n else 0):
        product = product * (n - i)
    return product if k <= n else 0


def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError("comb() takes no negative numbers")
    product = 1
    for i in range(min(k, n - k) if k <= n else 0):
        product = product * (n - i) // (i + 1)
    return product if k <= n else 0


def dist(p, q):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    if len(p) != 2:
        raise ValueError("`math.dist` takes points of two dimensions here")
    return math.hypot(p[0] - q[0], p[1] - q[1])
