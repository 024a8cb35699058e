"""The call graph of a program: call sites, and the strongly connected components (sets of mutually recursive functions).

Source: Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing, 1972 (the components).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backends.acrobat.analyses.once import once
from backends.acrobat.core.reach import reachable
from backends.acrobat.ir.nodes import Call, Program
from backends.acrobat.ir.visitor import walk


@dataclass(frozen=True, slots=True, order=True)
class CallSite:
    """Call number `index`, from 0, of `function` in source order."""

    function: str
    index: int


class CallGraph:
    """`calls`: the calls in each function, in source order. `callees`: the functions that each calls directly. `components`:
    callees before their callers, and within a component functions in program order. `component`: each function's number in that
    list. `recursive`: the functions that call themselves, directly or through others."""

    def __init__(self, program: Program) -> None:
        self.calls: Mapping[str, tuple[Call, ...]] = {
            name: tuple(node for node in walk(function.body) if isinstance(node, Call))
            for name, function in program.functions.items()
        }
        self._index = {name: {id(call): i for i, call in reversed([*enumerate(calls)])} for name, calls in self.calls.items()}
        self.callees: Mapping[str, frozenset[str]] = {
            name: frozenset(call.function for call in calls) for name, calls in self.calls.items()
        }
        self.components: tuple[tuple[str, ...], ...] = tuple(self._components())
        self.component: Mapping[str, int] = {name: i for i, names in enumerate(self.components) for name in names}
        self.recursive: frozenset[str] = frozenset(
            name for names in self.components for name in names if len(names) > 1 or name in self.callees[name]
        )

    def site(self, function: str, call: Call) -> CallSite:
        """The site of `call`, a node of `function`. One node object that occurs in several places is one site."""
        return CallSite(function, self._index[function][id(call)])

    def sites(self, target: str) -> list[CallSite]:
        """The call sites of `target`, in program order."""
        return [
            CallSite(name, i)
            for name, calls in self.calls.items()
            for i, call in enumerate(calls)
            if call.function == target and self._index[name][id(call)] == i
        ]

    def reachable(self, start: str) -> frozenset[str]:
        """`start` and all functions that it calls, directly or through others."""
        return frozenset(reachable([start], self.callees.__getitem__))

    def _components(self) -> list[tuple[str, ...]]:
        """Tarjan's algorithm without recursion. `visited` numbers functions in the order of visits; `lowest[f]` is the smallest
        number of a function on the stack that `f` reaches."""
        order = {name: i for i, name in enumerate(self.callees)}
        visited: dict[str, int] = {}
        lowest: dict[str, int] = {}
        stack: list[str] = []
        components = []
        for root in self.callees:
            if root in visited:
                continue
            work: list[tuple[str, Iterator[str]]] = [(root, iter(()))]
            while work:
                name, callees_left = work[-1]
                if name not in visited:
                    visited[name] = lowest[name] = len(visited)
                    stack.append(name)
                    callees_left = iter(sorted(self.callees[name], key=order.__getitem__))
                    work[-1] = (name, callees_left)
                for callee in callees_left:
                    if callee not in visited:
                        work.append((callee, iter(())))
                        break
                    if callee in stack:
                        lowest[name] = min(lowest[name], visited[callee])
                else:
                    work.pop()
                    if work:
                        caller = work[-1][0]
                        lowest[caller] = min(lowest[caller], lowest[name])
                    if lowest[name] == visited[name]:
                        at = stack.index(name)
                        components.append(tuple(sorted(stack[at:], key=order.__getitem__)))
                        del stack[at:]
        return components


@once
def call_graph(program: Program) -> CallGraph:
    """The call graph of a program."""
    return CallGraph(program)
