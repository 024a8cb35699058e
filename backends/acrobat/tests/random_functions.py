"""Idioms of random models: functions, methods and modules that are chosen while the model runs. Each replaces `h`, a vector
with elements in [-1, 1], by another."""

from __future__ import annotations

from backends.acrobat.tests.random_models import Idiom, Lines, Maker


def functions(m: Maker) -> list[str]:
    """Three functions of a vector, each as the text that names it."""
    kinds = (
        lambda: m.method("h", [f"return torch.tanh({m.linear()}(h) + {m.constant()})"], "act"),
        lambda: m.module("nn.Linear(D, D)", "lin"),
        lambda: f"(lambda v: torch.tanh(v * {m.constant()}))",
        lambda: m.pick("torch.tanh", "torch.sigmoid", "F.silu"),
    )
    return [kinds[m.choose(len(kinds))]() for _ in range(3)]


def tables(m: Maker) -> Lines:
    """Dictionaries and lists of functions that are looked up at run time."""
    v, k = m.new("table"), m.new("key")
    a, b, c = functions(m)
    op, n = m.of("op"), m.of("n")
    ways: list[Lines] = [
        [f"{v} = {{'add': {a}, 'mul': {b}, 'none': {c}}}", f"h = torch.tanh({v}[{op}](h))"],
        [f"h = torch.tanh({{'add': {a}, 'none': {b}}}.get({op}, {c})(h))"],
        [f"{v} = [{a}, {b}, {c}]", f"h = torch.tanh({v}[{n} % 3](h))"],
        [f"{v} = {{0: {a}, 3: {b}}}", f"if {n} in {v}:", f"    h = torch.tanh({v}[{n}](h))"],
        [f"{v} = {{'a': {a}, 'b': {b}}}", f"for {k} in {v}:", f"    h = torch.tanh({v}[{k}](h))"],
        [
            f"{v} = ({a}, {b}, {c})",
            f"for {k} in {m.of('ids')}:",
            f"    h = torch.tanh({v}[{k} % 3](h))",
        ],
    ]
    return ways[m.choose(len(ways))]


def chosen(m: Maker) -> Lines:
    """Functions that a condition chooses: methods, modules, functions inside of functions."""
    v, w = m.new("f"), m.new("w")
    a, b, _ = functions(m)
    flag, n = m.of("flag"), m.of("n")
    ways: list[Lines] = [
        [f"{v} = {a} if {flag} else {b}", f"h = torch.tanh({v}(h))"],
        [f"if {n} > 1:", f"    {v} = {a}", "else:", f"    {v} = {b}", f"h = torch.tanh({v}({v}(h)))"],
        [
            f"def up{v}(y):",
            f"    return torch.tanh(y + 0.1 * {n})",
            "",
            f"def down{v}(y):",
            "    return torch.tanh(y * 0.5 - h)",
            "",
            f"{v} = up{v} if {flag} else down{v}",
            f"h = {v}({m.linear()}(h))",
        ],
        [
            f"{w} = {m.of('scale')}",
            f"{v} = (lambda y: y * {w}) if {n} % 2 else (lambda y: torch.tanh(y + {w}))",
            f"h = torch.tanh({v}(h) + {v}({m.of('x')}))",
        ],
        [
            f"def {v}(y, k):",
            f"    return y if k <= 0 else {v}(torch.tanh({m.linear()}(y)), k - 1)",
            "",
            f"h = {v}(h, {n})",
        ],
    ]
    return ways[m.choose(len(ways))]


def changing(m: Maker) -> Lines:
    """Chosen functions that change a list or a dictionary which they are given."""
    found, k = m.new("found"), m.new("w")
    once = m.method("found, w", ["found.append(w)"], "once")
    twice = m.method("found, w", ["if w > 2:", "    found.append(w)", "found.append(w + 1)"], "twice")
    last = m.method("found, w", ["if found:", "    found.pop()"], "last")
    call = m.pick(
        f"({once} if {k} % 2 else {twice})({found}, {k})",
        f"{{'add': {once}, 'mul': {twice}, 'none': {last}}}[{m.of('op')}]({found}, {k})",
        f"[{twice}, {last}, {once}][{k} % 3]({found}, {k})",
    )
    return [
        f"{found} = [1]",
        f"for {k} in {m.of('ids')}:",
        f"    {call}",
        f"h = torch.tanh(h * (0.1 * sum({found}) + len({found})))",
    ]


def named(m: Maker) -> Lines:
    """`getattr` of names that are made at run time."""
    v, op = m.new("visit"), m.of("op")
    if m.choose(2):
        for name in ("add", "mul", "none"):
            m.init.append(f"self.{v}_{name} = nn.Linear(D, D)  # found by its name")
        return [f"h = torch.tanh(getattr(self, f'{v}_{{{op}}}')(h))"]
    m.methods += ["", f"def {v}_add(self, h):", f"    return torch.tanh({m.linear()}(h))"]
    m.methods += ["", f"def {v}_none(self, h):", f"    return h * {m.constant()}"]
    m.methods += ["", f"def {v}_otherwise(self, h):", "    return -h"]
    other = f"self.{v}_otherwise"
    ways: list[Lines] = [
        [f"h = getattr(self, '{v}_' + {op}, {other})(h)"],
        [f"{v} = f'{v}_{{{op}}}'", f"h = getattr(self, {v})(h) if hasattr(self, {v}) else {other}(h)"],
    ]
    return ways[m.choose(len(ways))]


def starred(m: Maker) -> Lines:
    """Lists of run-time length after `*`."""
    v = m.new("f")
    ids, xs, n = m.of("ids"), m.of("xs"), m.of("n")
    one = f"self.{v}"
    ways: list[tuple[Lines, Lines]] = [
        ([f"def {v}(self, a, b):", "    return torch.tanh(a - b)"], [f"if len({xs}) == 2:", f"    h = {one}(*{xs})"]),
        ([f"def {v}(self, h, *ws):", "    return h * (0.1 * sum(ws) + 0.1 * len(ws))"], [f"h = torch.tanh({one}(h, *{ids}))"]),
        (
            [f"def {v}(self, n, a):", "    return 0.1 * n + 0.2 * a"],
            [f"h = torch.tanh(h * {one}({n}, *{ids}[:1]))"],
        ),
        ([], [f"h = torch.tanh(h * (0.1 * max({n}, *{ids}) - 0.1 * min(3, *{ids})))"]),
        ([], [f"h = torch.tanh(sum([*{xs}, h, *{xs}], torch.zeros(D)) * 0.25)"]),
    ]
    method, lines = ways[m.choose(len(ways))]
    m.methods += ["", *method] if method else []
    return lines


FUNCTIONS: dict[str, Idiom] = {
    "tables of functions": tables,
    "chosen functions": chosen,
    "chosen functions that change lists": changing,
    "attributes of made names": named,
    "lists after a star": starred,
}
"""These idioms by name."""
