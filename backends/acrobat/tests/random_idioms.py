"""Idioms of random models: statements as users write them. Each replaces `h`, a vector with elements in [-1, 1], by another."""

from __future__ import annotations

from backends.acrobat.tests.random_control import CONTROL
from backends.acrobat.tests.random_functions import FUNCTIONS
from backends.acrobat.tests.random_models import Idiom, Lines, Maker
from backends.acrobat.tests.random_modules import MODULES
from backends.acrobat.tests.random_objects import OBJECTS
from backends.acrobat.tests.random_values import VALUES

BY_NAME = "nn.ModuleDict({k: nn.Linear(D, D) for k in ('add', 'mul', 'none')})"
SHARES = "{'add': 0.5, 'mul': -0.5, 'none': 0.1}"
ACTIVATIONS = ("tanh", "sigmoid", "relu", "silu", "leaky_relu", "elu", "softplus", "mish", "gelu", "hardtanh", "softsign")


def layer(m: Maker) -> Lines:
    x = f"{m.linear()}(h)"
    name = m.pick(*ACTIVATIONS)
    return [f"h = torch.tanh(F.{name}({x}))" if name not in ("tanh", "sigmoid") else f"h = torch.{name}({x})"]


def in_place(m: Maker) -> Lines:
    """Changes the result of an operation in place."""
    v = m.new("v")
    change = m.pick(
        f"F.relu({v}, inplace=True)",
        f"{v}.add_(0.5)",
        f"{v}.mul_({m.constant()}).add_(0.25)",
        f"{v}.tanh_()",
        f"{v} += h",
        f"{v} *= 0.5",
    )
    return [f"{v} = {m.linear()}(h)", change, f"h = torch.tanh({v})"]


def masks(m: Maker) -> Lines:
    c = m.constant()
    v = m.new("mask")
    ways: list[Lines] = [
        [f"h = torch.where(h > {c}, h, torch.full_like(h, {c}))"],
        ["h = torch.where(h < 0.0, -h * 0.5, h)"],
        ["h = h.masked_fill(h < 0, 0.0)"],
        [f"h = h.clamp(-{1 + m.choose(4)} / 4, 0.5)"],
        [f"{v} = (h > -2) & (h < 2)", f"h = torch.where({v}, torch.tanh(h), torch.zeros(D))"],
        [f"{v} = (h > 2).float()", f"h = h * (1 - {v}) + {v}"],
        ["h = h * (0.1 * float((h > -3).sum()))"],
        [f"h = torch.maximum(h, {m.of('x')}) * (~(h > 3)).float()"],
    ]
    return ways[m.choose(len(ways))]


def dictionaries(m: Maker) -> Lines:
    v, k, t = m.new("known"), m.new("key"), m.of("ids")
    ways: list[Lines] = [
        [f"{v} = {{'x': h, 'y': {m.linear()}(h)}}", f"h = torch.tanh({v}['x'] + {v}['y'])"],
        [
            f"{v} = {{7: 0}}",
            f"for {k} in {t}:",
            f"    {v}[{k}] = {v}.get({k}, 0) + 1",
            f"h = h * (0.1 * {v}.get({m.choose(7)}, 0) + 0.1 * len({v}))",
        ],
        [
            f"{v} = {{{k}: 2 * {k} for {k} in {t}}}",
            f"for {k}, value{k} in {v}.items():",
            f"    h = torch.tanh(h + 0.1 * value{k})",
        ],
        [
            f"{v} = {{{k}: {m.embedding()}.weight[{k}] for {k} in {t}}}",
            f"if {m.choose(7)} in {v}:",
            f"    h = torch.tanh(h + sum({v}.values(), torch.zeros(D)))",
        ],
        [f"h = h * {m.module(SHARES, 'shares')}[{m.of('op')}]"],
        [f"if {m.choose(6)} in {m.of('table')}:", f"    h = h * (0.1 * {m.of('table')}.get({m.choose(6)}, 3))"],
    ]
    return ways[m.choose(len(ways))]


def sets(m: Maker) -> Lines:
    v, k = m.new("seen"), m.new("w")
    if m.choose(2):
        return [
            f"{v} = {{{k} % 3 for {k} in {m.of('ids')}}}",
            f"h = h * (0.2 * len({v}) + 0.1 * sum(sorted({v})))",
            "h = torch.tanh(h)",
        ]
    return [
        f"{v} = set()",
        f"for {k} in {m.of('ids')}:",
        f"    if {k} in {v}:",
        "        continue",
        f"    {v}.add({k})",
        f"    h = torch.tanh(h + {m.embedding()}.weight[{k}])",
    ]


def strings(m: Maker) -> Lines:
    op = m.of("op")
    v, k = m.new("name"), m.new("letter")
    ways: list[Lines] = [
        [
            f"if {op} == 'add':",
            "    h = torch.tanh(h + 0.5)",
            f"elif {op} in ('mul', 'max'):",
            f"    h = h * {m.constant()}",
            "else:",
            "    h = -h",
        ],
        [
            f"{v} = 'up' if {m.of('n')} > 1 else 'down'",
            f"if {v} == 'up' and {op} != 'none':",
            f"    h = torch.tanh({m.linear()}(h))",
        ],
        [f"match {op}:", "    case 'add':", "        h = torch.tanh(h + h)", "    case _:", "        h = h * 0.5"],
        [f"h = torch.sigmoid({m.module(BY_NAME, 'by')}[{op}](h))"],
        [f"for {k} in {op}:", f"    h = torch.tanh(h * (0.5 if {k} in 'aeiou' else 1.5))"],
        [f"{v} = {op}[::-1] + f'-{{len({op})}}'", f"if {v}.startswith('d') or {v}.split('-')[1] == '4':", "    h = h * 0.5"],
        [f"h = torch.tanh(h * (0.1 * {op}.count('d') + 0.2 * len({op}.upper()) + 0.1 * (ord({op}[0]) - 96)))"],
    ]
    return ways[m.choose(len(ways))]


def changed_lists(m: Maker) -> Lines:
    v, k, a = m.new("stack"), m.new("w"), m.new("a")
    ways: list[Lines] = [
        [
            f"{v} = [h]",
            f"for {k} in {m.of('ids')}:",
            f"    {v}.append({m.embedding()}.weight[{k}])",
            f"    if len({v}) > 2:",
            f"        {a} = {v}.pop()",
            f"        {v}.append(torch.tanh({v}.pop() + {a}))",
            f"h = torch.tanh({v}[-1])",
        ],
        [
            f"{v} = list({m.of('ids')})",
            f"{v}.sort({m.pick('', 'reverse=True')})",
            f"{v}.insert(0, {m.choose(5)})",
            f"h = h * (0.1 * {v}[1] + 0.1)",
        ],
        [f"{v} = [{k} for {k} in {m.of('xs')}]", f"{v}[0] = h", f"{v}.reverse()", f"h = torch.tanh({v}[0] - {v}[-1])"],
        [
            f"{v} = [0, 0, 0]",
            f"for {k} in {m.of('ids')}:",
            f"    {v}[{k} % 3] += {k}",
            f"h = h * (0.1 * {v}[0] - 0.05 * {v}[2])",
            "h = torch.tanh(h)",
        ],
        [f"{v} = []", f"{v}.extend({m.of('xs')})", f"{v} += [h]", f"h = torch.tanh(torch.stack({v}).sum(0))"],
        [
            f"{v} = [{k} * 2 for {k} in {m.of('ids')} if {k} != 3]",
            f"while {v} and {v}[-1] > 4:",
            f"    {v}.pop()",
            f"h = h * (0.2 * len({v}))",
        ],
    ]
    return ways[m.choose(len(ways))]


def collected(m: Maker) -> Lines:
    """Passes a list to a method that appends to it."""
    found, name, k = m.new("found"), m.new("collect"), m.new("w")
    m.methods += [
        "",
        f"def {name}(self, node, found):",
        "    if node.leaf:",
        "        found.append(node.word)",
        "    for child in node.below:",
        f"        self.{name}(child, found)",
    ]
    table = m.embedding()
    return [
        f"{found} = []",
        f"self.{name}({m.of('tree')}, {found})",
        f"for {k} in {found}:",
        f"    h = torch.tanh(h + {table}.weight[{k}])",
    ]


def own_tensors(m: Maker) -> Lines:
    v = m.new("t")
    change = m.pick(f"{v}[0] = h[{m.choose(m.d)}]", f"{v} += h", f"{v}[1] += 0.5", f"{v}[{m.choose(m.d)}] = {m.constant()}")
    return [f"{v} = torch.{m.pick('zeros', 'ones')}(D)", change, f"{v} += {m.linear()}(h)", f"h = torch.tanh({v})"]


def objects(m: Maker) -> Lines:
    cls, v, k = m.new("State"), m.new("state"), m.new("w")
    m.top += [
        "",
        f"class {cls}:",
        "    scale = 0.5",
        "",
        "    def __init__(self, h, steps):",
        "        self.h = h",
        "        self.steps = steps",
        "",
        "    def moved(self, by):",
        f"        return {cls}(torch.tanh(self.h + by), self.steps + 1)",
        "",
        "    @property",
        "    def scaled(self):",
        f"        return self.h * {cls}.scale",
        "",
    ]
    return [
        f"{v} = {cls}(h, 0)",
        f"for {k} in {m.of('xs')}:",
        f"    {v} = {v}.moved({k})",
        f"h = {v}.scaled if {v}.steps > 1 else {v}.h",
    ]


def raised(m: Maker) -> Lines:
    """Errors that the model raises itself, for few instances."""
    n, k = m.of("n"), m.new("w")
    ways: list[Lines] = [
        [f"assert {n} < 9, f'n is {{{n}}}'"],
        [f"if {n} == 4 and {m.of('flag')}:", f"    raise ValueError(f'n is {{{n}:03d}} and {{len({m.of('ids')})}} ids')"],
        [f"assert {n} != 4 or {m.of('op')} != 'add', 'four'"],
        [
            f"for {k} in {m.of('ids')}:",
            f"    if {k} > 5 and {n} == 3:",
            f"        raise KeyError({k})",
            f"    h = torch.tanh(h + {m.constant()})",
        ],
    ]
    return ways[m.choose(len(ways))]


def unions(m: Maker) -> Lines:
    s, shapes = m.new("s"), m.of("shapes")
    if m.choose(2):
        return [
            f"for {s} in {shapes}:",
            f"    match {s}:",
            f"        case Circle(radius=r{s}):",
            f"            h = torch.tanh(h + r{s})",
            f"        case Box(w{s}, x{s}) if w{s} > 1:",
            f"            h = torch.tanh({m.linear()}(x{s}) + h * w{s})",
            "        case _:",
            "            h = -h",
        ]
    return [
        f"for {s} in {shapes}:",
        f"    if isinstance({s}, Box):",
        f"        h = torch.tanh(h + {s}.x * {s}.width)",
        f"    elif isinstance({s}, Circle):",
        f"        h = h * {s}.radius",
    ]


def optionals(m: Maker) -> Lines:
    maybe = m.of("maybe")
    v = m.new("v")
    ways: list[Lines] = [
        [f"{v} = {maybe}", f"if {v} is not None:", f"    h = torch.tanh({m.linear()}({v}) + h)"],
        [f"{v} = {maybe}", f"{v} = h if {v} is None else {v}", f"h = h * {v}"],
    ]
    return ways[m.choose(len(ways))]


def memo(m: Maker) -> Lines:
    """Computes nodes of a graph that are reached several times only once, with a dictionary by `id`."""
    name, table, layer_ = m.new("state"), m.embedding(), m.linear()
    if m.choose(2):
        body = [
            "if id(node) not in memo:",
            f"    h = {table}.weight[node.word]",
            "    for other in node.below:",
            f"        h = h + self.{name}(other, memo)",
            f"    memo[id(node)] = torch.tanh({layer_}(h))",
            "return memo[id(node)]",
        ]
    else:
        body = [
            "key = id(node)",
            "if key in memo:",
            "    return memo[key]",
            f"states = [self.{name}(other, memo) for other in node.below]",
            f"h = torch.tanh({layer_}({table}.weight[node.word] + sum(states, torch.zeros(D))))",
            "memo[key] = h",
            "return h",
        ]
    m.methods += ["", f"def {name}(self, node, memo):", *(f"    {line}" for line in body)]
    return [f"h = torch.tanh(h + self.{name}({m.of('graph')}, {{}}))"]


def recursion(m: Maker) -> Lines:
    name, table, layer_ = m.new("walk"), m.embedding(), m.linear()
    ways: list[Lines] = [
        [
            "if node.leaf:",
            f"    return {table}.weight[node.word]",
            f"states = [self.{name}(child, h) for child in node.below]",
            f"return torch.tanh({layer_}(torch.stack(states).mean(0)) + h)",
        ],
        [
            f"h = torch.tanh({layer_}(h) + {table}.weight[node.word])",
            "for child in node.below:",
            f"    h = self.{name}(child, h)",
            "return h",
        ],
        [
            f"best = torch.zeros(D) if node.leaf else torch.stack([self.{name}(c, h) for c in node.below]).amax(0)",
            f"return torch.tanh({layer_}(best) + {table}.weight[node.word]) * (1.0 / node.count())",
        ],
    ]
    m.methods += ["", f"def {name}(self, node, h):", *(f"    {line}" for line in ways[m.choose(len(ways))])]
    return [f"h = self.{name}({m.of('tree')}, h)"]


def floats(m: Maker) -> Lines:
    f = m.new("f")
    scale, n = m.of("scale"), m.of("n")
    value = m.pick(
        f"{scale} * 0.5 + {n} / 3",
        f"{n} // 2 + {scale} % 0.3",
        f"abs({scale}) - {n} * 0.1",
        f"float(int({scale} * 7)) / 7",
        f"min({scale}, 0.3) + max({n}, 2) * 0.1",
        f"-{scale} // 0.7 * 0.1",
        f"round({scale} * 3) / 4",
    )
    return [f"{f} = {value}", m.pick(f"h = torch.tanh(h * {f})", f"h = torch.tanh(h + ({f} if {f} > 0.2 else -0.5))")]


def functional(m: Maker) -> Lines:
    """Comprehensions, sorting, lambdas and functools."""
    v, k = m.new("v"), m.new("w")
    ids, xs = m.of("ids"), m.of("xs")
    ways: list[Lines] = [
        [f"{v} = sorted({ids}, key=lambda w: -w)", f"h = h * (0.1 * {v}[0])"],
        [
            f"{v} = [{m.embedding()}.weight[{k}] + h for {k} in {ids} if {k} % 2 == 0]",
            f"h = torch.tanh(sum({v}, torch.zeros(D)))",
        ],
        [f"h = torch.tanh(functools.reduce(torch.add, {xs}))"],
        [f"for {k}, {v} in zip({ids}, {xs}):", f"    h = torch.tanh(h + {v} * (0.1 * {k}))"],
        [f"if any({k} > 4 for {k} in {ids}) or all({k} < 2 for {k} in {ids}):", "    h = h * 0.5"],
        [f"{v} = max({ids}) - min({ids}) + len([{k} for {k} in {ids} if {k} == 1])", f"h = h * (0.1 * {v})"],
        [f"{v} = lambda a, b: torch.tanh(a * b + a)", f"h = {v}(h, {m.of('x')})"],
        [f"{v} = [[{k} + j for j in range({k} % 3)] for {k} in {ids}]", f"h = h * (0.05 * sum(len(w) for w in {v}))"],
        [f"for {k}, {v} in reversed(list(enumerate({xs}))):", f"    h = torch.tanh({v} + h * (0.2 * {k}))"],
        [f"first{v}, *rest{v} = [*{xs}, h]", f"h = torch.tanh(first{v} + sum(rest{v}, torch.zeros(D)))"],
        [f"{v} = {m.of('pair')}", f"h = torch.tanh({v}[1] * {v}[0] + h)"],
        [f"{v} = torch.tensor({ids})", f"h = torch.tanh({m.embedding()}({v}).sum(0) + h)"],
    ]
    return ways[m.choose(len(ways))]


def ragged(m: Maker) -> Lines:
    """Tensors whose extent varies from instance to instance, reduced to a vector."""
    r, w = m.new("r"), m.new("w")
    rows, others = m.of("rows"), m.of("others")
    source = m.pick(rows, rows, f"torch.stack({m.of('xs')})", f"{m.embedding()}(torch.tensor({m.of('ids')}))")
    row_wise = m.pick(
        f"torch.tanh({m.linear()}({r}))",
        f"{r} * 0.5 + h",
        f"F.relu({r} - 0.25)",
        f"torch.cat([{r}, {r}], dim=1)[:, 1:1 + D]",
        f"{r} - {r}.mean(0)",
    )
    reduced = m.pick(
        f"{r}.sum(0)",
        f"{r}.mean(0)",
        f"{r}.amax(0)",
        f"torch.softmax({r} @ h, 0) @ {r}",
        f"(torch.softmax({r}, 0) * {r}).sum(0)",
        f"{r}[0] - {r}[-1]",
        f"{r}[1:].sum(0)",
        f"{r}.max(dim=0)[0]",
        f"torch.cat([{r}, {others}]).mean(0)",
        f"(torch.softmax({r} @ {others}.t() * 0.5, dim=-1) @ {others}).mean(0)",
        f"F.scaled_dot_product_attention({r}, {others}, {others}).sum(0)",
        f"({r} @ {r}.t()).sum(1) @ {r} * 0.1",
        f"{r}.t() @ {r}.sum(1)",
        f"{r}.clamp(min=0.0).sum(0)",
        f"torch.logsumexp({r}, 0)",
        f"{r}[{w}]",
    )
    out = [f"{r} = {source}"]
    out += [f"{r} = {row_wise}"] if m.choose(2) else []
    out += [f"{w} = {m.of('n')} % {r}.size(0)"] if reduced.endswith(f"[{w}]") else []
    if m.choose(4) == 0:
        return [*out, f"for {w} in {r}:", f"    h = torch.tanh(h + {w})"]
    return [*out, f"h = torch.tanh({reduced})"]


def buffers(m: Maker) -> Lines:
    name = m.new("order")
    m.init.append(f"self.register_buffer('{name}', torch.tensor([2, 0, 5, 16777217]))")
    if m.choose(2):
        return [f"h = h * (0.1 * int(self.{name}[{m.choose(3)}]))"]
    return [f"if self.{name}[3].item() % 2 == 1:", "    h = -h"]


def experts(m: Maker) -> Lines:
    name = m.module("nn.ModuleList([nn.Linear(D, D) for _ in range(3)])", "experts")
    v = m.new("e")
    ways: list[Lines] = [
        [f"h = torch.tanh({name}[{m.of('n')} % 3](h))"],
        [f"for {v} in {name}:", f"    h = torch.tanh({v}(h))"],
        [f"h = torch.tanh(sum({v}(h) for {v} in {name}))"],
    ]
    return ways[m.choose(len(ways))]


def moved(m: Maker) -> Lines:
    """Tensors that are split, joined and rearranged."""
    v = m.new("v")
    ways: list[Lines] = [
        [f"{v} = {m.linear('2 * D')}(h)", f"a{v}, b{v} = {v}.chunk(2)", f"h = torch.tanh(a{v}) * torch.sigmoid(b{v})"],
        ["h = torch.cat([h[1:], h[:1]])"],
        [f"{v} = torch.outer(h, h)", f"h = torch.tanh({v}.sum(0))"],
        [f"{v} = torch.stack([h, {m.of('x')}])", f"h = torch.tanh({v}.mean(0) + {v}.amax(0))"],
        ["h = h.flip(0).roll(1)"],
        [f"h = torch.einsum('i,j->j', h, torch.tanh({m.linear()}(h))) * 0.25"],
        ["h = h / (1.0 + h.norm())"],
        ["h = F.softmax(h, dim=-1)"],
        ["h = torch.tanh(h.cumsum(0))"],
        ["h = h.unsqueeze(0).expand(2, D).reshape(-1)[:D]"],
        ["h = F.normalize(h + 2.0, dim=0)"],
        [f"h = torch.tanh(F.one_hot(torch.tensor({m.of('n')} % D), D).float() + h)"],
        [f"h = torch.tanh(h * F.mse_loss(h, {m.of('x')}))"],
    ]
    return ways[m.choose(len(ways))]


IDIOMS: dict[str, Idiom] = {
    "layers": layer,
    "in place": in_place,
    "masks": masks,
    "dictionaries": dictionaries,
    "sets": sets,
    "strings": strings,
    "lists that change": changed_lists,
    "lists changed by methods": collected,
    "tensors of one's own": own_tensors,
    "objects": objects,
    "errors of the model": raised,
    "unions": unions,
    "optionals": optionals,
    "memos of nodes": memo,
    "recursion over trees": recursion,
    "floats": floats,
    "functional": functional,
    "ragged": ragged,
    "buffers": buffers,
    "experts": experts,
    "moves": moved,
    **MODULES,
    **FUNCTIONS,
    **VALUES,
    **OBJECTS,
    **CONTROL,
}
"""All idioms by name."""
