"""Rebuilds functions in normal form, with substitutions on the way. Inlining and specialisation are built on it.

In normal form
- a let chain is flat: no value that it binds is itself a let;
- no variable is bound to an atom, or to the component of a tuple that is written out;
- no `If` has a literal condition, and no `Match` a case that is known;
- a chain ends in an atom, a tuple, or an `If` or `Match` whose bodies are such chains. So all work is bound to a variable, by
  which analyses name it.

Source: administrative normal form (Flanagan et al., The essence of compiling with continuations, PLDI 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from backends.acrobat.core.types import TupleT
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, from_lets, lets, operands, with_operands

X = TypeVar("X")


def normalise(
    function: n.Function,
    inline: Mapping[str, n.Function] | None = None,
    atoms: Mapping[str, n.Atom] | None = None,
    target: Callable[[n.Call], str] = lambda call: call.function,
) -> n.Function:
    """`function` in normal form. Calls of the functions in `inline` are replaced by their bodies, other calls go to the
    function that `target` names, and the function's own variables that are in `atoms` become these atoms. Its own variables
    keep their names; a variable of an inlined body gets a number if its name is taken."""
    builder = _Normaliser(function, inline or {}, atoms or {}, target)
    return replace(function, body=builder.block(function.body, builder.root))


@dataclass
class _FunctionCopy:
    """One copy of a function's body. `env`: the atoms that its variables have become. `own`: it is the body of the rebuilt
    function, whose variables keep their names, and not an inlined one. `result_names`: the
    variable that an inlined body ends in -> the name that it gets, which is that of the variable that the call was bound to,
    and whether this is one of the function's own."""

    env: dict[str, n.Atom]
    own: bool
    result_names: dict[str, tuple[str, bool]]


class _Normaliser:
    """Rebuilds one function. `root` is its own copy; inlined functions get copies of their own (`_FunctionCopy`)."""

    def __init__(
        self,
        function: n.Function,
        inline: Mapping[str, n.Function],
        atoms: Mapping[str, n.Atom],
        target: Callable[[n.Call], str],
    ) -> None:
        self._target = target
        self._inline = inline
        self._atoms = atoms
        self._names = Names(names_of(function))
        self._definitions: dict[str, n.Tuple | n.Construct] = {}
        self.root = _FunctionCopy({p.name: atoms.get(p.name, p) for p in function.params}, True, {})

    def block(self, expr: n.Expr, scope: _FunctionCopy, components: bool = False) -> n.Expr:
        """A body rebuilt as a chain. With `components`, for the body of a loop, which gives the next values of the carried
        variables, the chain ends in a tuple that is written out, also if the tuple was bound to a variable."""
        out: list[Binding] = []
        tail = self._flat(expr, scope, out, None)
        if components and isinstance(tail, n.Var) and isinstance(definition := self._definitions.get(tail.name), n.Tuple):
            tail = definition
        if not isinstance(tail, n.Var | n.Lit | n.Weight | n.Tuple | n.If | n.Match):
            var = n.Var(self._names.fresh("result"), tail.type, span=tail.span)
            out.append((var, tail))
            tail = var
        return from_lets(out, tail)

    def _flat(self, expr: n.Expr, scope: _FunctionCopy, out: list[Binding], target: n.Var | None) -> n.Expr:
        """What is left of `expr` after its bindings have been appended to `out`; the caller binds it to `target`, if given."""
        while isinstance(expr, n.Let):
            self._bind(expr.var, self._flat(expr.value, scope, out, expr.var), scope, out)
            expr = expr.body
        match expr:
            case n.Call(name, args) if name in self._inline:
                return self._copy(self._inline[name], [self._atom(a, scope) for a in args], scope, out, target)
            case n.Field(value, index):
                atom = self._atom(value, scope)
                if isinstance(atom, n.Var) and isinstance(definition := self._definitions.get(atom.name), n.Tuple):
                    return definition.items[index]
                return with_operands(expr, [atom])
            case n.If(cond, then, orelse):
                cond = self._atom(cond, scope)
                if isinstance(cond, n.Lit):
                    return self._flat(then if cond.value else orelse, scope, out, target)
                return replace(expr, cond=cond, then=self.block(then, scope), orelse=self.block(orelse, scope))
            case n.Match(value, arms):
                atom = self._atom(value, scope)
                if isinstance(atom, n.Var) and isinstance(definition := self._definitions.get(atom.name), n.Construct):
                    arm = next(arm for arm in arms if arm.case == definition.case)
                    scope.env.update(zip((v.name for v in arm.vars), definition.args, strict=True))
                    return self._flat(arm.body, scope, out, target)
                return replace(expr, value=atom, arms=tuple(self._arm(arm, scope) for arm in arms))
        return self._rebuilt(expr, scope)

    def _copy(
        self, callee: n.Function, args: list[n.Atom], scope: _FunctionCopy, out: list[Binding], target: n.Var | None
    ) -> n.Expr:
        result_names = {}
        _, tail = lets(callee.body)
        if target and isinstance(tail, n.Var) and tail.name not in {p.name for p in callee.params}:
            result_names[tail.name] = scope.result_names.get(target.name, (target.name, scope.own))
        env = {p.name: a for p, a in zip(callee.params, args, strict=True)}
        return self._flat(callee.body, _FunctionCopy(env, False, result_names), out, target)

    def _bind(self, var: n.Var, value: n.Expr, scope: _FunctionCopy, out: list[Binding]) -> None:
        if isinstance(value, n.Var | n.Lit | n.Weight):
            scope.env[var.name] = self._atoms.get(var.name, value) if scope.own else value
            return
        if isinstance(value, n.Fold | n.Loop) and scope.own and any(v.name in self._atoms for v in value.vars):
            value = self._without_fixed(var, value, out)
        new = self._renamed(var, scope)
        out.append((new, value))
        if isinstance(value, n.Tuple | n.Construct):
            self._definitions[new.name] = value

    def _without_fixed(self, var: n.Var, old: n.Fold | n.Loop, out: list[Binding]) -> n.Tuple:
        """Binds, in `out`, the loop without the carried variables in `atoms`; returns the tuple that the old loop gave."""

        fixed = [v.name in self._atoms for v in old.vars]

        def others(items: Sequence[X]) -> tuple[X, ...]:
            return tuple(item for item, is_fixed in zip(items, fixed, strict=True) if not is_fixed)

        def shorten(body: n.Expr) -> n.Expr:
            """The chain without the components of its tuple that are not carried any more."""
            bindings, body = lets(body)
            match body:
                case n.If(_, then, orelse):
                    tail: n.Expr = replace(body, then=shorten(then), orelse=shorten(orelse), type=shorter)
                case n.Match(_, arms):
                    tail = replace(body, arms=tuple(replace(a, body=shorten(a.body)) for a in arms), type=shorter)
                case n.Tuple(items):
                    tail = n.Tuple(others(items), shorter, span=body.span)
                case _:
                    assert isinstance(body, n.Var)
                    tail = n.Tuple(others(self._components(body, old.vars, bindings)), shorter, span=body.span)
            return from_lets(bindings, tail)

        shorter = TupleT(tuple(v.type for v in others(old.vars)))
        loop = replace(old, vars=others(old.vars), init=others(old.init), body=shorten(old.body), type=shorter)
        short = n.Var(self._names.fresh(var.name), shorter, span=var.span)
        out.append((short, loop))
        carried = iter(self._components(short, loop.vars, out))
        items = tuple(self._atoms[v.name] if is_fixed else next(carried) for v, is_fixed in zip(old.vars, fixed, strict=True))
        return n.Tuple(items, old.type, span=old.span)

    def _components(self, value: n.Var, names: Sequence[n.Var], out: list[Binding]) -> list[n.Atom]:
        """Binds each component of a tuple to a new variable, named after the one in `names`, and returns these variables."""
        items: list[n.Atom] = []
        for index, var in enumerate(names):
            item = n.Var(self._names.fresh(var.name), var.type, span=value.span)
            out.append((item, n.Field(value, index, var.type, span=value.span)))
            items.append(item)
        return items

    def _renamed(self, var: n.Var, scope: _FunctionCopy) -> n.Var:
        """The variable that `var` of this copy becomes, which is entered into `env`."""
        name, own = scope.result_names.get(var.name, (var.name, scope.own))
        new = var if own and name == var.name else replace(var, name=name if own else self._names.fresh(name))
        scope.env[var.name] = self._atoms.get(var.name, new) if scope.own else new
        return new

    def _atom(self, atom: n.Atom, scope: _FunctionCopy) -> n.Atom:
        if not isinstance(atom, n.Var):
            return atom
        known = scope.env[atom.name]
        return atom if known == atom else replace(known, span=atom.span)

    def _arm(self, arm: n.Arm, scope: _FunctionCopy) -> n.Arm:
        return n.Arm(arm.case, tuple(self._renamed(v, scope) for v in arm.vars), self.block(arm.body, scope))

    def _rebuilt(self, expr: n.Expr, scope: _FunctionCopy) -> n.Expr:
        """The node with the operands, variables and functions that it has in the copy of its function."""
        args = [self._atom(a, scope) for a in operands(expr)]
        match expr:
            case n.Var() | n.Lit() | n.Weight():
                return args[0]
            case n.Call(name):
                if (called := self._target(expr)) != name:
                    expr = replace(expr, function=called)
            case n.Map(var, _, body):
                expr = replace(expr, var=self._renamed(var, scope), body=self.block(body, scope))
            case n.Fold(var, _, carried, _, body):
                var, carried = self._renamed(var, scope), tuple(self._renamed(v, scope) for v in carried)
                expr = replace(expr, var=var, vars=carried, body=self.block(body, scope, components=True))
            case n.Loop(carried, _, cond, body):
                carried = tuple(self._renamed(v, scope) for v in carried)
                cond = self.block(cond, scope)
                expr = replace(expr, vars=carried, cond=cond, body=self.block(body, scope, components=True))
        return with_operands(expr, args)
