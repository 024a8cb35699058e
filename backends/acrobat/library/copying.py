"""Deep copies of lists of objects, or of lists, to which several names may refer: one that is there twice is copied once."""

from backends.acrobat.library.words import another


def each_once(parts):
    numbers = [id(x) for x in parts]
    copies = []
    for i, x in enumerate(parts):
        first = numbers.index(numbers[i])
        if first < i:
            copies.append(copies[first])
        else:
            copies.append(another(x))
    return copies


def values_once(entries):
    keys = list(entries)
    return dict(zip(keys, each_once([entries[k] for k in keys]), strict=True))
