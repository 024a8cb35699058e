"""The features of a random program that test the compiler. They are looked for in the finished program, without dead code."""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.waits import Waits
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.core.units import Block, Kernel, Mode
from backends.acrobat.ir.nodes import Call, Expr, Fold, Host, If, Item, Launch, Loop, Map, Match, Program, Var, Weight
from backends.acrobat.ir.visitor import bodies, free_vars, lets, walk


def features(program: Program) -> set[str]:
    """The names of the features that occur in a finished program."""
    graph = CallGraph(program)
    waits = Waits(program, graph).functions
    out: set[str] = set()
    for name, f in program.functions.items():
        nodes = list(walk(f.body))
        if name in graph.recursive:
            out.add("recursion")
            if any(isinstance(p.type, DataT) for p in f.params) and any(isinstance(node, Match) for node in nodes):
                out.add("recursion over unions")
            if any(isinstance(node, Call) and node.function != name and node.function in graph.recursive for node in nodes):
                out.add("recursion into another")
            if name in waits:
                out.add("recursion that waits")
        if f.origin:
            out.add("clones for weights")
        for node in nodes:
            out |= _of_node(node)
        out |= _of_chain(f.body, frozenset())
    return out


def _works(expr: Expr) -> bool:
    return any(isinstance(node, (Launch, Call)) for node in walk(expr))


def _of_node(node: Expr) -> set[str]:
    out: set[str] = set()
    match node:
        case Match():
            out.add("match")
        case Item(type=ListT()):
            out.add("vectors read")
        case Host(op="list.top"):
            out.add("highest items")
        case Loop() | Fold() | Map() if any(map(_works, bodies(node))):
            out.add({Loop: "work in while loops", Fold: "work in for loops", Map: "work in comprehensions"}[type(node)])
        case Launch(unit=unit, args=args):
            out.add("static blocks" if isinstance(unit, Block) else "kernels")
            for p, a in zip(unit.params, args, strict=True):
                if p.mode is Mode.SHARED:
                    out.add("shared weights")
                elif isinstance(a, Weight):
                    out.add("gathered weights")
                if p.mode is Mode.LIST:
                    out.add("sums over lists")
            for kernel in [unit] if isinstance(unit, Kernel) else [s.kernel for s in unit.steps]:
                out |= _of_kernel(kernel)
    return out


def _of_kernel(kernel: Kernel) -> set[str]:
    modes = {p.name: p.mode for p in kernel.params}
    out = {"fused kernels"} if len(kernel.body) > 1 else set()
    for i in kernel.body:
        if OPS[i.op].fusion is Fusion.PRODUCT:
            shared = modes.get(str(i.args[1])) is Mode.SHARED
            out.add("products with shared weights" if shared else "products without shared weights")
    return out


def _of_chain(expr: Expr, read: frozenset[str]) -> set[str]:
    """The features of a let chain. `read`: variables that depend on the value of a tensor."""
    out: set[str] = set()
    bindings, tail = lets(expr)
    working: list[frozenset[str]] = []  # for each call, the variables it depends on and its own
    behind: dict[str, frozenset[str]] = {}
    for var, value in [*bindings, (None, tail)]:
        used = free_vars(value)
        if isinstance(value, Item) or (isinstance(value, Host) and used & read):
            read |= {var.name} if var else set()
        if isinstance(value, If) and isinstance(value.cond, Var) and value.cond.name in read:
            out.add("branches on tensors")
            if any(map(_works, bodies(value))):
                out.add("work in branches on tensors")
        for body in bodies(value):
            out |= _of_chain(body, read)
        if var is None:
            continue
        needs = used.union(*(behind.get(u, frozenset()) for u in used))
        behind[var.name] = needs
        if isinstance(value, Call):
            if any(not (names & needs) for names in working):
                out.add("independent calls")
            working.append(frozenset({var.name}))
    return out
