"""Short functions as `idioms.py` has them, of lists that are not empty: tensors of ints and of bools."""

import types

import torch


def _floats(xs):
    return torch.tensor([float(x) for x in xs])


def masks_in_arithmetic(xs):
    m = _floats(xs) > 1
    return m + m, m * m, m * 2, 2 * m, m + 1, m / 2, m.sum() / 2


def masks_as_numbers(xs):
    x = _floats(xs)
    m = x > 1
    return m.to(x), m.type_as(x), m.to(x.dtype), m.to(torch.long), m.type(torch.float32), m.to(torch.bool), x.type_as(m)


def masks_like_masks(xs):
    m = torch.tensor([1.0, 2.0, 3.0]) + len(xs) > 3
    return torch.zeros_like(m), torch.ones_like(m, dtype=torch.float32), m.new_zeros(2), m.new_ones(len(xs)), torch.ones_like(m)


def running_counts(xs):
    m = torch.tensor(xs) > 1
    twice = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * len(xs) > 3
    return m.cumsum(0), torch.cumsum(m, dim=0) * m.long(), twice.cumsum(1), torch.cumprod(m, 0)


def running_sums_of_ints(xs):
    x = torch.tensor(xs)
    return x.cumsum(0), torch.cumprod(x, dim=0), torch.tensor([1, 2, len(xs)]).cumsum(-1), x.cumsum(0)[-1].item() * 2


def positions_of_words(xs):
    words = torch.tensor(xs).unsqueeze(0)
    mask = words.ne(1).int()
    return torch.cumsum(mask, dim=1).type_as(mask) * mask + 1


def mean_of_what_a_mask_takes(xs):
    x = _floats(xs)
    m = x > 1
    n = m.sum()
    return (x * m).sum() / m.sum().clamp(min=1), x.sum() / (n + 1), x * n - n, (x * m).sum(0) / m.sum(0)


def means_of_rows(xs):
    x = torch.tensor([[float(y), 1.0] for y in xs])
    m = x > 1
    return (x * m).sum(1) / m.sum(1).clamp(min=1), m.sum(1, keepdim=True)


def nested_lists_of_bools(xs):
    several = torch.tensor([[x > y for x in xs] for y in xs])
    return torch.tensor([[True, False], [False, len(xs) > 1]]), torch.tensor([True, len(xs) > 2]), several, several.float()


def tuples_of_numbers(xs):
    points = {i: (x, x / 2) for i, x in enumerate(xs)}
    boxes = [((1.0, 2.0), (x, 3.5)) for x in xs]
    near = [(x, x + 1) for x in xs]
    flags = [(x > 1, x > 2) for x in xs]
    return (
        [torch.tensor(xy) * 2 for xy in points.values()],
        [torch.tensor(box) for box in boxes],
        torch.tensor(near[-1]),
        torch.tensor(near[0], dtype=torch.float32),
        torch.tensor(flags[0]),
        torch.zeros(1).new_tensor(points[0]),
    )


def numbers_at_equal_steps(xs):
    n = len(xs)
    of_a_size = torch.linspace(-1, 1, 2 * n).unsqueeze(1), torch.linspace(0.5, 2.0, steps=n - 1, dtype=torch.float32)
    return of_a_size, torch.linspace(start=xs[0], end=n / 2, steps=3).reshape(3, 1) * torch.ones(2)


def rows_of_different_lengths(xs):
    return torch.tensor([[x for x in xs if x > i] for i in range(3)])


IDIOMS = [
    value
    for name, value in list(globals().items())
    if isinstance(value, types.FunctionType) and value.__module__ == __name__ and not name.startswith("_")
]
"""All of the functions above whose names do not begin with a `_`."""
