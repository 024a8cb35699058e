"""Binding groups: which merges leave an order, and which delay work."""

from __future__ import annotations

from backends.acrobat.ir.visitor import lets
from backends.acrobat.passes.grouping import Groups
from backends.acrobat.passes.tests.texts import after

CHAIN = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4])) -> f32[4]
  a: f32[4] = tanh(@start)
  b: f32[4] = tanh(@start)
  c: f32[4] = exp(a)
  d: f32[4] = exp(b)
  e: f32[4] = add(c, d)
  e
""".replace("weight w: f32[4, 4]", "weight start: f32[4]")

TIMES = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4], bool)) -> (f32[4], f32[4], f32[4])
  x: f32[4] = instance[0]
  c: bool = instance[2]
  slow: f32[4] = call forward_1(x, c)
  a: f32[4] = linear(x, @w)
  b: f32[4] = linear(slow, @w)
  pair: (f32[4], f32[4]) = (a, x)
  again: f32[4] = pair[0]
  early: f32[4] = tanh(again)
  (b, early, slow)

def forward_1(y: f32[4], d: bool) -> f32[4]
  if d
    more: f32[4] = call forward_1(y, False)
    more
  else
    y
"""


LENGTH = """\
entry forward
weight table: f32[9, 4]

def forward(xs: list[f32[4]]) -> (f32[4], f32[4])
  count: int = host list.len(xs)
  row: f32[4] = row(@table, count)
  a: f32[4] = tanh(row)
  b: f32[4] = list_sum(xs, nonempty=False)
  (a, b)
"""


def groups(text: str) -> tuple[Groups, dict[str, int]]:
    function = after(text).functions["forward"]
    bindings, _ = lets(function.body)
    return Groups(bindings, {}, {p.name: p.type for p in function.params}), {var.name: i for i, (var, _) in enumerate(bindings)}


def ready(g: Groups, group: int) -> set[str]:
    return {name for name, number in g.numbers.items() if g.ready(group) >> number & 1}


def test_two_groups_may_not_wait_for_each_other() -> None:
    """{a, d} and {b, c} may each be one group, but not both: c needs a, in the first, and d needs b, in the second."""
    g, at = groups(CHAIN)
    assert g.can_merge([g.of[at["a"]], g.of[at["d"]]]) and g.can_merge([g.of[at["b"]], g.of[at["c"]]])
    merged = g.merge([at["a"], at["d"]])
    assert not g.can_merge([g.of[at["b"]], g.of[at["c"]]])
    assert g.can_merge([merged, g.of[at["b"]]])


def test_order_puts_a_group_where_its_last_member_stood() -> None:
    g, at = groups(CHAIN)
    g.merge([at["a"], at["c"]])
    assert [[*g.members(group)] for group in g.order()] == [[at["b"]], [at["a"], at["c"]], [at["d"]], [at["e"]]]


def test_a_merge_updates_users_on_both_sides() -> None:
    g, at = groups(CHAIN)
    first = g.merge([at["a"], at["b"]])
    second = g.merge([at["c"], at["d"]])
    assert g.after(first) == {second} and g.after(second) == {at["e"]}
    assert [g.of[i] for i in range(5)] == [first, first, second, second, at["e"]]


def test_delay_is_seen_through_names_and_only_where_somebody_works() -> None:
    g, at = groups(TIMES)
    assert g.delays([at["a"], at["b"]])  # `early`, which reads `a` by another name, would wait for `slow`
    g.merge([at["b"], at["early"]])
    assert not g.delays([at["a"], g.of[at["b"]]])
    assert "slow" in ready(g, g.of[at["b"]]) and "slow" not in ready(g, at["a"])


def test_a_length_is_known_before_the_items() -> None:
    g, at = groups(LENGTH)
    assert ready(g, at["a"]) == set() and ready(g, at["b"]) == {"xs"}
