"""What a result has in place of objects that the program has as numbers."""

from backends.acrobat.library.words import whole


def given_out(x, steps):
    """An object with what its attributes have now. No way by objects and lists that are numbers is longer than
    `steps`, if none leads back."""
    if steps < 0:
        raise RecursionError("the result has an object in it that leads back to itself: return what is needed of it")
    steps -= 1
    return whole(x, steps)
