"""Idioms of random models: numbers that Python's containers, strings and enumerations give. Each replaces `h`, a vector with
elements in [-1, 1], by another."""

from __future__ import annotations

from backends.acrobat.tests.random_models import Idiom, Lines, Maker


def ordered_strings(m: Maker) -> Lines:
    v, words, op = m.new("names"), m.of("words"), m.of("op")
    k = m.new("w")
    value = m.pick(
        f"len(min({words})) - len(max({words}))",
        f"len(sorted({words})[0])",
        f"len(sorted({words}, key=str.lower)[-1])",
        f"sum({k} < {op} for {k} in {words})",
        f"len(max((len({k}), {k}) for {k} in {words})[1])",
        f"sorted({words}, reverse=True).index({words}[0])",
        f"len(sorted({words}, key=lambda w: (-len(w), w))[0])",
    )
    if m.choose(3) == 0:
        return [f"{v} = list({words})", f"{v}.sort()", f"if {v}[0] <= {op}:", f"    h = torch.tanh(h * (0.2 * len({v}[0])))"]
    return [f"{v} = {value}", f"h = torch.tanh(h * (0.1 * {v} + 0.05))"]


def counters(m: Maker) -> Lines:
    v, ids, k = m.new("counts"), m.of("ids"), m.new("w")
    make = m.pick(f"Counter({ids})", f"Counter({k} % 3 for {k} in {ids})", f"Counter({ids}) + Counter([1, 1, 2])")
    change = m.pick(
        f"{v}.update({ids}[:2])",
        f"{v}.update({{1: 3, 9: 2}})",
        f"{v}.subtract([1, 2])",
        f"{v} = {v} - Counter({ids}[1:])",
        f"{v} = {v} & Counter([0, 1, 2, 3, 4, 4])",
        f"{v} = {v} | Counter({{2: 2}})",
        f"{v}[{m.choose(7)}] += 2",
    )
    value = m.pick(
        f"{v}[{m.choose(7)}] + {v}[8]",
        f"sum({v}.values())",
        f"{v}.total() + len({v})",
        f"sum({k} * c for {k}, c in {v}.most_common(2))",
        f"sum({k} * c for {k}, c in sorted({v}.items()))",
        f"max({v}.values(), default=0)",
    )
    return [f"{v} = {make}", change, f"h = torch.tanh(h * (0.1 * ({value}) + 0.05))"]


def heaps(m: Maker) -> Lines:
    """`heapq` and `bisect`."""
    v, ids, k, n = m.new("heap"), m.of("ids"), m.new("w"), m.of("n")
    ways: list[Lines] = [
        [f"{v} = []", f"for {k} in {ids}:", f"    heapq.heappush({v}, (-{k}, len({v})))", f"{v} = heapq.heappop({v})[1]"],
        [f"{v} = list({ids})", f"heapq.heapify({v})", f"{v} = heapq.heappushpop({v}, {n}) + 2 * {v}[0]"],
        [f"{v} = list({ids})", f"heapq.heapify({v})", f"{v} = heapq.heapreplace({v}, {n}) + 2 * {v}[0]"],
        [f"{v} = sum(heapq.nlargest(2, {ids})) - heapq.nsmallest(1, {ids})[0]"],
        [f"{v} = sorted({ids})", f"{v} = bisect.bisect_left({v}, {n}) + 2 * bisect.bisect({v}, {n})"],
        [f"{v} = []", f"for {k} in {ids}:", f"    bisect.insort({v}, {k})", f"{v} = {v}[len({v}) // 2]"],
    ]
    return [*ways[m.choose(len(ways))], f"h = torch.tanh(h * (0.1 * {v} + 0.05))"]


def enumerations(m: Maker) -> Lines:
    kind, level, v = m.of("kind"), m.of("level"), m.new("v")
    ways: list[Lines] = [
        [f"if {kind} is Kind.UP:", "    h = torch.tanh(h + 0.5)", f"elif {kind} == Kind.DOWN:", "    h = h * 0.5"],
        [f"h = torch.tanh(h * {kind}.factor)"],
        [f"h = h * (0.1 * len({kind}.name) + 0.1 * {kind}.value)"],
        [f"{v} = {{Kind.UP: 0.5, Kind.DOWN: -0.5, Kind.LEVEL: 1.0}}", f"h = h * {v}[{kind}]"],
        [f"if {level} >= Level.MID:", f"    h = torch.tanh(h * (0.1 * {level} + 0.1 * max({level}, 2)))"],
        [f"h = {m.embedding()}.weight[{level} + 1] * 0.25 + h * 0.5"],
        [f"{v} = [0, 0, 0]", f"{v}[{level}] += 2", f"h = torch.tanh(h * ({v}[0] + 0.5 * {v}[2] + 0.1))"],
        [f"match {kind}:", "    case Kind.UP:", "        h = -h", "    case Kind.DOWN | Kind.LEVEL:", "        h = h * 0.75"],
    ]
    return ways[m.choose(len(ways))]


def constant_lists(m: Maker) -> Lines:
    """Lists of constants of different lengths that an index or a key of run time chooses."""
    k, n, op = m.new("w"), m.of("n"), m.of("op")
    v = m.new("rules")
    by_index, by_key = "[[1, 2], [], [0, 5, 3]]", "{'add': [1], 'mul': [], 'none': [2, 3]}"
    pairs = "[('s', [1, 2]), ('t', []), ('u', [4])]"
    ways: list[Lines] = [
        [f"for {k} in {m.module(by_index, 'rules')}[{n} % 3]:", f"    h = torch.tanh({m.embedding()}.weight[{k}] + h)"],
        [f"{v} = {m.module(by_key, 'rules')}[{op}]", f"h = torch.tanh(h * (0.2 * len({v}) + 0.1 * sum({v}) + 0.1))"],
        [
            f"{v} = {m.module(pairs, 'rules')}[{n} % 3]",
            f"h = torch.tanh(h * (0.2 * sum({v}[1]) + 0.3 * ({v}[0] == 's') + 0.1))",
        ],
        [f"name{v}, {v} = {m.module(pairs, 'rules')}[{n} % 3]", f"for {k} in {v}:", f"    h = torch.tanh(h + 0.1 * {k})"],
        [f"if {n} in {m.module(by_index, 'rules')}[{m.of('ids')}[0] % 3]:", "    h = h * 0.5"],
    ]
    return ways[m.choose(len(ways))]


def two_containers(m: Maker) -> Lines:
    """Two dictionaries or two sets in one place, and containers in containers."""
    v, w, k, ids, n = m.new("known"), m.new("seen"), m.new("w"), m.of("ids"), m.of("n")
    dicts = [f"{v} = {{{k}: {k} + 1 for {k} in {ids}}}", f"{w} = {{{k} % 2: {n} for {k} in {ids}}}"]
    sets = [f"{v} = set({ids})", f"{w} = {{{k} // 2 for {k} in {ids}}}"]
    ways: list[tuple[Lines, str]] = [
        (dicts, f"sum(({v} | {w}).values()) + len({v})"),
        ([*dicts, f"{v}.update({w})"], f"sum({v}.values()) + 2 * len({w})"),
        ([*dicts, f"{w}.setdefault(0, 5)"], f"{w}[0] + len([{k} for {k} in {v} if {k} in {w}])"),
        ([*dicts, f"{v}, {w} = {w}, {v}"], f"sum({w}.values()) - len({v})"),
        (sets, f"len({v} & {w}) + 2 * len({v} - {w}) + 3 * len({v} ^ {w})"),
        ([*sets, f"{v} |= {w}"], f"sum(sorted({v})) + ({w} <= {v})"),
        ([f"{v} = defaultdict(list)", f"for {k} in {ids}:", f"    {v}[{k} % 3].append({k})"], f"len({v}) + sum({v}[1])"),
        (
            [f"{v} = {{}}", f"for {k} in {ids}:", f"    {v}.setdefault({k} % 2, []).append({k})"],
            f"sum(len(each) * key for key, each in {v}.items())",
        ),
        ([f"{v} = {{'a': {{1: 2}}, 'b': {{}}}}", f"{v}['b'][{n}] = {n} + 1"], f"len({v}['a']) + {v}['b'].get(2, 4)"),
    ]
    lines, value = ways[m.choose(len(ways))]
    return [*lines, f"h = torch.tanh(h * (0.1 * ({value}) + 0.05))"]


def never_filled(m: Maker) -> Lines:
    """Lists that stay empty, alone and beside others."""
    v, k = m.new("none"), m.new("w")
    name = m.method("found, h", [f"for {k} in found:", "    h = h + 1.0", "return h * (0.5 + len(found))"], "over")
    ways: list[Lines] = [
        [f"{v} = []", f"for {k} in {v}:", "    h = h + 1.0", f"h = h * (0.5 + len({v}))"],
        [f"{v} = []", f"h = {name}({v}, h)"],
        [f"{v} = [] if {m.of('flag')} else {m.of('ids')}", f"h = torch.tanh({name}({v}, h))"],
        [f"{v} = ([], h)", f"h = {v}[1] * (0.5 + len({v}[0]))"],
        [f"{v} = [[], {m.of('ids')}]", f"h = torch.tanh(h * (0.1 * sum(len({k}) for {k} in {v})))"],
    ]
    return ways[m.choose(len(ways))]


VALUES: dict[str, Idiom] = {
    "order of strings": ordered_strings,
    "counters": counters,
    "heaps": heaps,
    "enumerations": enumerations,
    "constant lists": constant_lists,
    "two containers": two_containers,
    "never filled": never_filled,
}
"""These idioms by name."""
