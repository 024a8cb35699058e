"""Idioms of random models: generators, errors that the model catches, loops that lengthen their list, parsers, functions that
the class of their argument chooses, and numbers beside tensors. Each replaces `h`, a vector with elements in [-1, 1]."""

from __future__ import annotations

from backends.acrobat.tests.random_models import Idiom, Lines, Maker


def generators(m: Maker) -> Lines:
    """Generator functions of the model, whose values a loop, a display or a function of Python takes."""
    v, k, t, ids, n = m.new("given"), m.new("w"), m.of("tree"), m.of("ids"), m.of("n")
    walk = m.new("walk")
    table = m.embedding()
    order = m.pick("before", "behind")
    below = ["for each in node.below:", f"    yield from self.{walk}(each)"]
    m.methods += ["", f"def {walk}(self, node):"]
    m.methods += [f"    {line}" for line in (["yield node.word", *below] if order == "before" else [*below, "yield node.word"])]
    steps = m.method(
        "h, n",
        ["for i in range(n):", f"    h = torch.tanh({m.linear()}(h))", "    if i == 2:", "        return", "    yield i, h"],
        "steps",
    )
    ways: list[Lines] = [
        [f"for {k} in self.{walk}({t}):", f"    h = torch.tanh(h + {table}.weight[{k} % 7])"],
        [f"{v} = list(self.{walk}({t}))", f"h = torch.tanh(h * (0.1 * {v}[0] - 0.2 * {v}[-1] + 0.1 * len({v})))"],
        [f"h = torch.tanh(h * (0.05 * sum(self.{walk}({t})) + 0.1 * max(self.{walk}({t}))))"],
        [f"for {k}, each{k} in {steps}(h, {n}):", f"    h = torch.tanh(h * {k} - each{k})"],
        [f"{v} = [each for i, each in {steps}(h, {n}) if i != 1]", f"h = torch.tanh(sum({v}, h * 0.5))"],
        [f"for {k}, each{k} in zip({ids}, self.{walk}({t})):", f"    h = torch.tanh(h + 0.1 * {k} - 0.1 * each{k})"],
        [f"{v} = sorted({k} % 3 for {k} in self.{walk}({t}))", f"h = torch.tanh(h * (0.2 * {v}[0] + 0.1 * len({v})))"],
    ]
    return ways[m.choose(len(ways))]


def caught(m: Maker) -> Lines:
    """Errors of Python and of the model that the model catches."""
    v, k, ids, n, table, words = m.new("found"), m.new("w"), m.of("ids"), m.of("n"), m.of("table"), m.of("words")
    error = m.new("Refused")
    m.top += ["", f"class {error}(Exception):", "    pass", ""]
    check = m.method(
        "h, n",
        [f"if n % 3 == {m.choose(3)}:", f"    raise {error}('refused')", f"return torch.tanh({m.linear()}(h) + 0.1 * n)"],
        "check",
    )
    ways: list[Lines] = [
        ["try:", f"    {v} = {table}[{n}]", "except KeyError:", f"    {v} = -1", f"h = torch.tanh(h * (0.2 * {v} + 0.1))"],
        ["try:", f"    {v} = {ids}.index({n})", "except ValueError:", f"    {v} = 7", f"h = torch.tanh(h * (0.1 * {v} + 0.1))"],
        ["try:", f"    {v} = {ids}[{n}]", "except IndexError:", f"    {v} = {n} * 2", f"h = torch.tanh(h + 0.1 * {v})"],
        ["try:", f"    h = {check}(h, {n})", f"except {error}:", "    h = h * 0.5"],
        ["try:", f"    h = {check}(h, {n})", f"except {error}:", "    h = -h", "else:", "    h = h * 0.75"],
        [
            f"for {k} in {ids}:",
            "    try:",
            f"        h = {check}(h, {k})",
            f"    except {error}:",
            f"        h = torch.tanh(h + {m.constant()})",
        ],
        [f"{v} = next(({k} for {k} in {ids} if {k} > {n}), -1)", f"h = torch.tanh(h * (0.2 * {v} + 0.1))"],
        [f"if any(len({k}) > 4 for {k} in {words}):", f"    h = {m.linear()}(h).tanh()"],
    ]
    return ways[m.choose(len(ways))]


def growing(m: Maker) -> Lines:
    """Loops over a list that they lengthen: a walk in levels over a tree or a graph."""
    v, k, table = m.new("queue"), m.new("node"), m.embedding()
    tree, ids = m.of("tree"), m.of("ids")
    ways: list[Lines] = [
        [
            f"{v} = [{tree}]",
            f"for {k} in {v}:",
            f"    h = torch.tanh(h + {table}.weight[{k}.word % 7])",
            f"    {v}.extend({k}.below)",
        ],
        [
            f"{v} = [{tree}]",
            f"for {k} in {v}:",
            f"    for each{k} in {k}.below:",
            f"        {v}.append(each{k})",
            f"h = torch.tanh(h * (0.1 * len({v}) - 0.1 * {v}[-1].word))",
        ],
        [
            f"{v} = [{tree}]",
            f"while {v}:",
            f"    {k} = {v}.pop({m.pick('0', '')})",
            f"    h = torch.tanh(h * 0.5 + {table}.weight[{k}.word % 7])",
            f"    {v} += {k}.below",
        ],
        [
            f"{v} = [{tree}]",
            f"while {v}:",
            f"    h = torch.tanh(h + sum([{table}.weight[{k}.word % 7] for {k} in {v}], torch.zeros(D)))",
            f"    {v} = [each for {k} in {v} for each in {k}.below]",
        ],
        [
            f"{v} = list({ids})",
            f"for {k} in {v}:",
            f"    if {k} > 2:",
            f"        {v}.append({k} // 2)",
            f"h = torch.tanh(h * (0.1 * len({v})))",
        ],
    ]
    return ways[m.choose(len(ways))]


def parsers(m: Maker) -> Lines:
    """Parsers by recursive descent over a list of ints: each gives what it read and the position behind it."""
    v, parse, table, layer = m.new("end"), m.new("parse"), m.embedding(), m.linear()
    ids = m.of("ids")
    if m.choose(2):
        body = [
            f"h = {table}.weight[words[at] % 7]",
            "if words[at] % 2 == 0 or at + 1 >= len(words):",
            "    return h, at + 1",
            f"below, at = self.{parse}(words, at + 1)",
            f"return torch.tanh({layer}(h) + below), at",
        ]
    else:
        body = [
            "word, at = words[at], at + 1",
            f"h = {table}.weight[word % 7]",
            "for _ in range(word % 3):",
            "    if at < len(words):",
            f"        below, at = self.{parse}(words, at)",
            f"        h = torch.tanh({layer}(h) + below)",
            "return h, at",
        ]
    m.methods += ["", f"def {parse}(self, words, at):", *(f"    {line}" for line in body)]
    return [f"at{v}, {v} = self.{parse}({ids}, 0)", f"h = torch.tanh(h * (0.1 * {v}) + at{v})"]


def dispatched(m: Maker) -> Lines:
    """Functions and methods of `functools` that the class of their argument chooses."""
    shapes, v, s = m.of("shapes"), m.new("visit"), m.new("s")
    if m.choose(2):
        m.top += [
            "",
            "@functools.singledispatch",
            f"def {v}(s, h):",
            "    return -h",
            "",
            "",
            f"@{v}.register",
            f"def _{v}_circle(s: Circle, h):",
            "    return torch.tanh(h + s.radius)",
            "",
            "",
            f"@{v}.register",
            f"def _{v}_box(s: Box, h):",
            "    return torch.tanh(h * s.width + s.x)",
            "",
        ]
        return [f"for {s} in {shapes}:", f"    h = {v}({s}, h)"]
    m.methods += [
        "",
        "@functools.singledispatchmethod",
        f"def {v}(self, s, h):",
        "    return -h",
        "",
        f"@{v}.register",
        f"def _{v}_box(self, s: Box, h):",
        f"    return torch.tanh({m.linear()}(s.x) + h * s.width)",
    ]
    return [f"for {s} in {shapes}:", f"    h = self.{v}({s}, h)"]


def walked_sets(m: Maker) -> Lines:
    """Loops over sets whose result does not depend on the order."""
    v, k, ids, n = m.new("seen"), m.new("w"), m.of("ids"), m.of("n")
    ways: list[Lines] = [
        [f"{v} = set({ids})", f"x{v} = 0", f"for {k} in {v}:", f"    x{v} += {k} * {k}", f"h = torch.tanh(h * (0.02 * x{v}))"],
        [f"{v} = {{{k} % 4 for {k} in {ids}}}", f"{v}.discard({n})", f"h = h * (0.1 * len({v}) + 0.1 * ({n} + 1 in {v}))"],
        [f"{v} = {{{n}}}", f"for {k} in {ids}:", f"    {v}.add({k})", f"h = torch.tanh(h * (0.1 * min({v}) + 0.1 * max({v})))"],
        [f"{v} = set({ids})", f"for {k} in sorted({v}):", f"    h = torch.tanh(h * 0.5 + {m.embedding()}.weight[{k}])"],
    ]
    return ways[m.choose(len(ways))]


def numbers_beside_tensors(m: Maker) -> Lines:
    """Names that hold a number first and a tensor later, and lists and tuples with both."""
    v, k, xs, n, flag = m.new("total"), m.new("x"), m.of("xs"), m.of("n"), m.of("flag")
    ways: list[Lines] = [
        [f"{v} = 0", f"for {k} in {xs}:", f"    {v} = {v} + {k}", f"h = torch.tanh(h + {v})"],
        [f"{v} = 0.0", f"for {k} in {xs}[:{n}]:", f"    {v} += {k}.sum() * 0.1", f"h = torch.tanh(h * {v})"],
        [f"{v} = {xs}[0] if {flag} else 0", f"h = torch.tanh(h + {v})"],
        [f"{v} = 1", f"if {n} > 1:", f"    {v} = torch.sigmoid({m.linear()}(h))", f"h = h * {v}"],
        [f"{v} = sum({xs}) * 0.5", f"h = torch.tanh({v} - h)"],
        [f"{v}, x{v} = (h.mean(), 1) if {flag} else (0.5, {n})", f"h = torch.tanh(h * {v} + 0.1 * x{v})"],
        [
            f"{v} = None",
            f"for {k} in {xs}:",
            f"    {v} = {k} if {v} is None else torch.tanh({v} + {k})",
            f"h = torch.tanh(h - {v})",
        ],
    ]
    return ways[m.choose(len(ways))]


def changed_under_two_names(m: Maker) -> Lines:
    """Containers in containers that are changed by one of their names and read by another."""
    v, w, k, ids, n = m.new("outer"), m.new("inner"), m.new("w"), m.of("ids"), m.of("n")
    ways: list[tuple[Lines, str]] = [
        ([f"{v} = [[], []]", f"for {k} in {ids}:", f"    {v}[{k} % 2].append({k})"], f"sum({v}[0]) - len({v}[1])"),
        ([f"{v} = {{'a': [1], 'b': []}}", f"for {k} in {ids}:", f"    {v}['b'].append({k})"], f"len({v}['b']) + {v}['a'][0]"),
        (
            [f"{v} = defaultdict(list)", f"for {k} in {ids}:", f"    {w} = {v}[{k} % 3]", f"    {w}.append({k})"],
            f"sum(len({w}) * {k} for {k}, {w} in {v}.items())",
        ),
        ([f"{v} = [[0] * 3 for _ in range({n} + 1)]", f"{v}[0][1] = 5", f"{v}[-1][2] += 1"], f"{v}[0][1] + {v}[{n}][2]"),
        ([f"{v} = ({n}, [1])", f"{v}[1].append({n})"], f"sum({v}[1]) + {v}[0]"),
        ([f"{v} = [list({ids}), [{n}]]", f"{w} = [{k}[:] for {k} in {v}]", f"{v}[0].append(4)"], f"sum({v}[0]) - len({w}[0])"),
    ]
    lines, value = ways[m.choose(len(ways))]
    return [*lines, f"h = torch.tanh(h * (0.1 * ({value}) + 0.05))"]


CONTROL: dict[str, Idiom] = {
    "generators": generators,
    "errors that are caught": caught,
    "lists that grow while they are read": growing,
    "parsers": parsers,
    "functions chosen by a class": dispatched,
    "sets that are walked over": walked_sets,
    "numbers beside tensors": numbers_beside_tensors,
    "containers changed under two names": changed_under_two_names,
}
"""These idioms by name."""
