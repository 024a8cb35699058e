"""Environments: objects of the instance with a method that gives their fields values and others that change what is in these.
Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2], [7, 7, 1, 0, 3, 3], [0], [6, 3, 9, 2, 4, 4, 1]]


class Grid:
    MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))

    def __init__(self, rows, start, energy):
        self.rows, self.start, self.energy = rows, start, energy

    def reset(self):
        self.grid = [list(r) for r in self.rows]
        self.pos = self.start
        self.left = self.energy
        self.visits = {}
        self.path = []
        return self.observe()

    def cell(self, r, c):
        if 0 <= r < len(self.grid) and 0 <= c < len(self.grid[0]):
            return self.grid[r][c]
        return "#"

    def observe(self):
        r, c = self.pos
        return [[self.cell(r + a, c + b) for b in (-1, 0, 1)] for a in (-1, 0, 1)]

    def step(self, action):
        dr, dc = self.MOVES[action]
        r, c = self.pos
        if self.cell(r + dr, c + dc) != "#":
            self.pos = (r + dr, c + dc)
        self.left -= 1
        self.visits[self.pos] = self.visits.get(self.pos, 0) + 1
        self.path.append(self.pos)
        got = self.cell(*self.pos)
        if got == "*":
            self.grid[self.pos[0]][self.pos[1]] = "."
            self.left += 1
        return self.observe(), got, self.left <= 0


def grid_env(self, env):
    obs = env.reset()
    out = []
    done = False
    n = 0
    while not done and n < 12:
        a = (n * 7 + obs[1].count("#")) % 4
        obs, got, done = env.step(a)
        out.append(got)
        n += 1
    return out, env.pos, env.visits, env.path, env.left, env.grid


def grid_twice(self, env):
    first = grid_env(self, env)
    second = grid_env(self, env)
    return first[0], second[0], first[3] is second[3], len(first[3])


def old_list_stays(self, env):
    env.reset()
    path = env.path
    env.step(1)
    env.step(2)
    n = len(path)
    env.reset()
    env.step(0)
    return n, len(path), path, env.path


class Two:
    def __init__(self, items):
        self.items = items

    def reset(self):
        self.a = [0]
        self.b = self.a
        self.c = [1]

    def step(self, x):
        self.a.append(x)
        self.c.append(-x)


def two_fields(self, env):
    env.reset()
    for x in env.items:
        env.step(x)
        env.b.append(100)
    return env.a, env.b, env.c, env.a is env.b


class OfInstance:
    def __init__(self, items):
        self.items = items
        self.count = 0

    def step(self):
        self.count += 1
        self.items.append(self.count)


def changes_instance_list(self, env):
    env.step()
    env.step()
    return env.items, env.count


class Aliased:
    def __init__(self, items):
        self.items = items

    def reset(self):
        self.work = self.items
        self.n = 0

    def step(self, x):
        self.work[0] = x
        self.n += 1


def alias_of_instance_list(self, env):
    env.reset()
    for x in (5, 6):
        env.step(x)
    return env.items, env.work, env.n


class Copied(Aliased):
    def reset(self):
        self.work = list(self.items)
        self.n = 0


def copy_of_instance_list(self, env):
    env.reset()
    for x in (5, 6):
        env.step(x)
    return env.items, env.work, env.n


class Stack:
    def __init__(self, items):
        self.items = items

    def reset(self):
        self.stack = [[]]
        self.buffer = deque(self.items)
        self.done = []

    def shift(self):
        x = self.buffer.popleft()
        self.stack[-1].append(x)

    def open(self):
        self.stack.append([])

    def close(self):
        top = self.stack.pop()
        self.stack[-1].append(sum(top))
        self.done.append(top)


def stack_env(self, env):
    env.reset()
    while env.buffer:
        if env.buffer[0] % 3 == 0:
            env.open()
        env.shift()
        if len(env.stack) > 1 and len(env.stack[-1]) > 1:
            env.close()
    return env.stack, env.done, len(env.buffer)


class Nested:
    def __init__(self, items, inner):
        self.items, self.inner = items, inner

    def reset(self):
        self.inner.reset()
        self.log = []

    def step(self, x):
        self.inner.step(x)
        self.log.append((x, len(self.inner.a)))


def nested_env(self, env):
    env.reset()
    for x in env.items:
        env.step(x)
    return env.log, env.inner.a, env.inner.c


class Empty:
    """Two fields that are empty in the beginning and stay so for some."""

    def __init__(self, items):
        self.items = items

    def reset(self):
        self.seen = {}
        self.order = {}
        self.todo = []
        self.done = []

    def step(self, x):
        self.seen[x] = len(self.seen)
        if x > 3:
            self.order[x] = 1
        self.todo.append(x)
        while len(self.todo) > 2:
            self.done.append(self.todo.pop(0))


def empties(self, env):
    env.reset()
    for x in env.items:
        env.step(x)
    return env.seen, env.order, env.todo, env.done


class Mixed:
    def __init__(self, items):
        self.items = items

    def reset(self):
        self.hist = []
        self.cur = self.hist

    def step(self, x):
        if x % 2:
            self.cur.append(str(x))
        else:
            new = [str(x)]
            self.cur.append(new)
            self.cur = new


def mixed_env(self, env):
    env.reset()
    for x in env.items:
        env.step(x)
    return env.hist, env.cur


class GivenOut:
    def __init__(self, items):
        self.items = items

    def reset(self):
        self.obs = [0, 0]
        return self.obs

    def step(self, x):
        self.obs[x % 2] += x
        return self.obs


def obs_is_field(self, env):
    first = env.reset()
    all_obs = [first]
    for x in env.items:
        all_obs.append(env.step(x))
    return first, all_obs, env.obs


def grids(n):
    rng = random.Random(3)
    out = []
    for _ in range(n):
        h, w = rng.randint(1, 4), rng.randint(1, 4)
        rows = ["".join(rng.choice("...#*") for _ in range(w)) for _ in range(h)]
        out.append(Grid(rows, (rng.randrange(h), rng.randrange(w)), rng.randint(1, 6)))
    return out


GRIDS = [grid_env, grid_twice, old_list_stays]
OF_LISTS = [
    (two_fields, Two),
    (copy_of_instance_list, Copied),
    (stack_env, Stack),
    (empties, Empty),
    (mixed_env, Mixed),
    (obs_is_field, GivenOut),
]
OF_INSTANCE = [(changes_instance_list, OfInstance), (alias_of_instance_list, Aliased)]


@pytest.mark.parametrize("function", GRIDS, ids=lambda f: f.__name__)
def test_grids(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), grids(8))


@pytest.mark.parametrize(("function", "cls"), OF_LISTS, ids=lambda f: f.__name__)
def test_fields_that_a_method_gives_values(function: Any, cls: Any) -> None:
    agrees(with_forward(nn.Module(), function), [cls(list(xs)) for xs in LISTS])


def test_an_environment_in_another_one() -> None:
    agrees(with_forward(nn.Module(), nested_env), [Nested(list(xs), Two(list(xs))) for xs in LISTS])


@pytest.mark.parametrize(("function", "cls"), OF_INSTANCE, ids=lambda f: f.__name__)
def test_lists_of_the_instance_are_not_changed(function: Any, cls: Any) -> None:
    sample = [cls(list(xs)) for xs in LISTS]
    agrees_unless_refused(with_forward(nn.Module(), function), sample, "may be seen under another name")
