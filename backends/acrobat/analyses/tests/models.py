"""The programs that several tests share: a TreeLSTM, and a BiRNN whose two scans are calls of one function with different
weights. The function scans by a loop or by a recursion."""

from __future__ import annotations

from backends.acrobat.analyses.tests.chain import (
    SCORE,
    TABLE,
    TREE,
    TREES,
    Chain,
    H,
    W,
    call,
    function,
    host,
    lit,
    op,
    pair,
    program,
    weight,
)
from backends.acrobat.core.types import BOOL, INT, ListT
from backends.acrobat.ir.nodes import Arm, Expr, Field, Fold, If, ListOf, Map, Match, Program, Tuple, Var

HS = ListT(H)
STATE = pair(H, H)


def treelstm() -> Program:
    """`forward` is the classifier of `encode(tree)`. The projection of a leaf depends on its word only."""
    leaf = Chain()
    x = leaf("x", op("row", weight("embedding", TABLE), Var("word", INT)))
    projected = leaf("projected", op("linear", x, weight("W")))
    h = leaf("h", op("tanh", projected))
    leaf_body = leaf.end(Tuple((h, projected), STATE))

    node = Chain()
    children = Var("children", ListT(TREE))
    child = Var("child", TREE)
    states = node("states", Map(child, children, call("encode", STATE, child), ListT(STATE)))
    state = Var("state", STATE)
    hs = node("hs", Map(state, states, Field(state, 0, H), HS))
    total = node("total", op("list_sum", hs, nonempty=True))
    h2 = node("h2", op("linear", total, weight("U")))
    node_body = node.end(Tuple((h2, total), STATE))

    tree = Var("tree", TREE)
    encode = Match(tree, (Arm("Leaf", (Var("word", INT),), leaf_body), Arm("Node", (children,), node_body)), STATE)

    top = Chain()
    root = top("root", call("encode", STATE, tree))
    root_h = top("root_h", Field(root, 0, H))
    scores = top("scores", op("linear", root_h, weight("V"), type=SCORE))
    forward = top.end(scores)
    return program(
        function("forward", (tree,), forward),
        function("encode", (tree,), encode),
        datatypes=TREES,
        embedding=TABLE,
        W=W,
        U=W,
        V=W,
    )


def _scan_loop() -> Expr:
    """The body of scan(w, start, xs) as a loop; it gives the list of all states."""
    w, start, xs = Var("w", W), Var("start", H), Var("xs", HS)
    x, state, states = Var("x", H), Var("state", H), Var("states", HS)
    step = Chain()
    projected = step("projected", op("tanh", x))
    new = step("new", op("linear", projected, w, state))
    longer = step("longer", host("list.append", HS, states, new))
    body = step.end(Tuple((new, longer), pair(H, HS)))
    scan = Chain()
    empty = scan("empty", ListOf((), HS))
    last = scan("last", Fold(x, xs, (state, states), (start, empty), body, pair(H, HS)))
    return scan.end(scan("out", Field(last, 1, HS)))


def _scan_recursion() -> Expr:
    """The body of scan(w, start, xs) as a recursion with one call for each element; it gives the list of all states."""
    w, start, xs = Var("w", W), Var("start", H), Var("xs", HS)
    step = Chain()
    x = step("x", host("list.get", H, xs, lit(0)))
    rest = step("rest", host("list.slice", HS, xs, lit(1), lit(1 << 30)))
    projected = step("projected", op("tanh", x))
    new = step("new", op("linear", projected, w, start))
    later = step("later", call("scan", HS, w, new, rest))
    one = step("one", ListOf((new,), HS))
    more = step.end(step("all", host("list.concat", HS, one, later)))
    scan = Chain()
    length = scan("length", host("list.len", INT, xs))
    done = scan("done", host("eq", BOOL, length, lit(0)))
    return scan.end(If(done, ListOf((), HS), more, HS))


def birnn(recursive: bool) -> Program:
    """`forward` is the classifier of the states of both scans, zipped."""
    words = Var("words", ListT(INT))
    word = Var("word", INT)
    top = Chain()
    xs = top("inputs", Map(word, words, op("row", weight("embedding", TABLE), word), HS))
    forwards = top("forwards", call("scan", HS, weight("Wf"), weight("start_f", H), xs))
    reversed_ = top("reversed", host("list.reverse", HS, xs))
    backwards = top("backwards", call("scan", HS, weight("Wb"), weight("start_b", H), reversed_))
    both = top("both", host("zip", ListT(STATE), forwards, backwards))
    pair_ = Var("pair", STATE)
    each = Chain()
    f, b = each("f", Field(pair_, 0, H)), each("b", Field(pair_, 1, H))
    tagged = each.end(each("tag", op("linear", f, weight("V"), b)))
    out = top("out", Map(pair_, both, tagged, HS))
    label = Var("label", H)
    best = Chain()
    labels = top("labels", Map(label, out, best.end(best("best", op("argmax", label))), HS))
    scan = _scan_recursion() if recursive else _scan_loop()
    return program(
        function("forward", (words,), top.end(labels)),
        function("scan", (Var("w", W), Var("start", H), Var("xs", HS)), scan),
        embedding=TABLE,
        Wf=W,
        Wb=W,
        V=W,
        start_f=H,
        start_b=H,
    )
