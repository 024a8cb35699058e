"""Idioms of random models: what modules and the model's own objects keep, trees that it makes, and one object under two names.
Each replaces `h`, a vector with elements in [-1, 1], by another."""

from __future__ import annotations

from backends.acrobat.tests.random_models import Idiom, Lines, Maker


def made_trees(m: Maker) -> Lines:
    """Trees of tuples and lists that one recursion makes and another one reads."""
    grow, total, v = m.new("grow"), m.new("total"), m.new("grown")
    below = f"torch.tanh({m.linear()}(h) + k)"
    ways: list[tuple[Lines, Lines]] = [
        (
            [f"return (h, [self.{grow}({below}, k - 1) for _ in range(2)] if k > 0 else [])"],
            ["h, below = tree", f"return h + sum([self.{total}(each) for each in below], torch.zeros(D))"],
        ),
        (
            [
                "if k <= 0 or h.sum().item() > 40:",
                "    return (h, None, None)",
                f"return (h, self.{grow}({below}, k - 1), self.{grow}(h * 0.5, k - 2))",
            ],
            [
                "if tree is None:",
                "    return torch.zeros(D)",
                f"return tree[0] + self.{total}(tree[1]) - 0.5 * self.{total}(tree[2])",
            ],
        ),
        (
            [
                "if k <= 0:",
                "    return ('leaf', h, [])",
                f"return ('node', {below}, [self.{grow}(h * i, k - 1) for i in range(k % 3)])",
            ],
            [
                "kind, h, below = tree",
                "if kind == 'leaf':",
                "    return h",
                "for each in below:",
                f"    h = h + self.{total}(each)",
                "return torch.tanh(h)",
            ],
        ),
    ]
    first, second = ways[m.choose(len(ways))]
    m.methods += ["", f"def {grow}(self, h, k):", *(f"    {line}" for line in first)]
    m.methods += ["", f"def {total}(self, tree):", *(f"    {line}" for line in second)]
    return [f"{v} = self.{grow}(h, {m.of('n')} % 4)", f"h = torch.tanh(self.{total}({v}) * 0.25)"]


def module_properties(m: Maker) -> Lines:
    """A module with a property that reads what the module assigns to."""
    cls, v = m.new("Steps"), m.new("steps")
    m.top += [
        "",
        f"class {cls}(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.lin = nn.Linear(D, D)",
        "        self.most = 2",
        "        self.steps = 0",
        "",
        "    @property",
        "    def done(self):",
        "        return self.steps >= self.most",
        "",
        "    @property",
        "    def share(self):",
        "        return torch.sigmoid(self.lin.bias) * self.steps",
        "",
        "    def start(self, n):",
        "        self.steps = n",
        "",
        "    def forward(self, h):",
        "        while not self.done:",
        "            h = torch.tanh(self.lin(h) + self.share)",
        "            self.steps += 1",
        "        return h",
        "",
    ]
    steps = m.module(f"{cls}()", "steps")
    return [f"{steps}.start({m.of('n')} % 3)", f"{v} = {steps}(h)", f"h = torch.tanh({v} + 0.1 * {steps}.steps)"]


def module_state(m: Maker) -> Lines:
    """Tensors, lists, dictionaries and numbers in attributes of the model, changed in place, also by methods."""
    v, k, ids = m.new("kept"), m.new("w"), m.of("ids")
    at = f"self.{v}"
    add = m.method("w", [f"{at}.append(w)"], "add")
    count = m.method("w", [f"{at}[w] = {at}.get(w, 0) + 1"], "count")
    ways: list[Lines] = [
        [f"{at} = {m.linear()}(h)", f"{at}[{m.choose(m.d)}] = 0.5", f"{at} += h", f"h = torch.tanh({at})"],
        [f"{at} = torch.zeros(D)", f"for {k} in {m.of('xs')}:", f"    {at} += {k}", f"h = torch.tanh({at})"],
        [f"{at} = []", f"for {k} in {ids}:", f"    {add}({k})", f"h = torch.tanh(h * (0.1 * sum({at}) + len({at})))"],
        [f"{at} = {{}}", f"for {k} in {ids}:", f"    {count}({k})", f"h = torch.tanh(h * (0.1 * {at}.get(2, 3) + len({at})))"],
        [f"{at} = 0", f"for {k} in {ids}:", f"    {at} = 2 * {at} + {k}", f"h = torch.tanh(h * (0.01 * {at}))"],
        [f"{at} = [h]", f"{at}.append({at}[-1] * 0.5)", f"h = torch.tanh({at}.pop() - {at}[0])"],
    ]
    return ways[m.choose(len(ways))]


def two_names(m: Maker) -> Lines:
    """One object under two names, of which neither changes it afterwards."""
    v, w, ids, xs = m.new("one"), m.new("other"), m.of("ids"), m.of("xs")
    both = m.method("a, b", ["return 0.1 * len(a) + 0.1 * sum(b)"], "both")
    ways: list[Lines] = [
        [f"{v} = [w * 2 for w in {ids}]", f"{v}.append(1)", f"{w} = {v}", f"h = torch.tanh(h * {both}({v}, {w}))"],
        [f"{v} = {ids}", f"{w} = {v}", f"{v} = {v} + [3]", f"h = torch.tanh(h * (0.1 * sum({v}) - 0.1 * sum({w}) + 0.2))"],
        [f"{v} = {m.linear()}(h)", f"{w} = {v}", f"{v} = {v} + 1.0", f"h = torch.tanh({v} * {w})"],
        [f"{v} = {{'x': h, 'y': h}}", "h = h * 0.5", f"h = torch.tanh({v}['x'] + {v}['y'] + h)"],
        [f"{v} = {xs} + {xs}", f"{w} = list({v})", f"{w}[0] = h", f"h = torch.tanh({v}[0] - {w}[0] + {w}[-1])"],
        [f"{v} = h", f"h = torch.tanh({m.linear()}(h))", f"h = torch.tanh(h - {v})"],
        [f"{v} = [h, h]", f"{v}[0] = {v}[0] + 1.0", f"h = torch.tanh({v}[0] * {v}[1])"],
        [f"{v} = h.clone()", f"{v}[0] = 0.25", f"h = torch.tanh(h + {v})"],
    ]
    return ways[m.choose(len(ways))]


OBJECTS: dict[str, Idiom] = {
    "made trees": made_trees,
    "properties of modules": module_properties,
    "state of modules": module_state,
    "two names": two_names,
}
"""These idioms by name."""
