"""What a call changes of its arguments: the compiled function gives the new values back beside its result, and the caller's
names get them, where nothing else refers to the old ones."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.state import root_in_scope
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, spine, tracked, walked
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached, note_seen_elsewhere
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh, fresh_inside, gives_new_memory
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, note_list_seen_elsewhere
from backends.acrobat.frontend.evaluator.rewriting.outputs import changed_in_place, changed_values, changes_in_place
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden, is_hidden
from backends.acrobat.frontend.evaluator.syntax.order import ListPath, Moved, path_of
from backends.acrobat.frontend.functions.signatures import class_of, owner_of
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import (
    held_atoms,
    is_array,
    is_container,
    is_held_tensor,
    is_iterator,
    is_object,
    is_plain,
    is_unknown,
    kind,
    type_or_none,
)
from backends.acrobat.frontend.memos import Memo
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.types import UNKNOWN, contains_unknown
from backends.acrobat.frontend.values import NOTHING, Dyn, EmptyPlaceholder, Special, Value, is_empty
from backends.acrobat.ir import nodes as n

if TYPE_CHECKING:
    pass

from backends.acrobat.frontend.functions.binding import BoundCall


class ChangingCall(BoundCall):
    """A call, with what its function changes."""

    def _find_changed(self) -> None:
        """Find the parameters whose lists or objects the function changes."""
        values = dict(zip(self.names, self.values, strict=True))
        cls = class_of(owner_of(self.values))
        changes = changed_values(self.function, cls, self.program.changing, lambda p: self.f.changes_by_reading(values[p]))
        for i in map(self.names.index, changes):
            self.values[i] = as_list_of_tensors(self.f, self.values[i])
        self.changed = [i for i in map(self.names.index, changes) if self._is_given_back(i)]
        for i in self.changed:
            self._keep_beside(i)
        self.changed = [i for i in self.changed if self._is_given_back(i)]
        for i in self.changed:
            known_type = self.program.grown.get((self.function, self.names[i]))
            if known_type is not None and is_unknown(self.values[i]):
                to_go = contains_unknown(known_type)
                self.values[i] = self.f.not_yet(known_type) if to_go else self.f.coerce(self.values[i], known_type)

    def _refuse_seen_twice(self) -> None:
        """Raises Refused if the function changes a list, object or tensor that another argument is, too, or has in it."""
        for i in self.changed:
            changed = self._passed(i)
            if not isinstance(changed, Dyn) or not (is_empty(changed) or self._sees_changes(i)) or self._only_rebinds(i):
                continue
            for j in range(len(self.values)):
                written = self._argument_node(j) if j < self.own else None
                if j == i or {self.names[i], self.names[j]} & self.program.carried.beside:
                    continue
                shown = self._shows_part(i, j)
                if not shown and written is not None and fresh(self.f, written, self.values[j]):
                    continue
                if shown or any(_same(atom, changed.atom) for atom in held_atoms(self._passed(j))):
                    note_seen_elsewhere(self.f, changed)
                    note_list_seen_elsewhere(self.f, self._argument_node(i) if i < self.own else None, changed.type)
                    which, other = (self.f.shown(self.names[x]) for x in (i, j))
                    what = f"`{self.called}` changes {which}, which it sees under another name, too: {other}"
                    raise Refused(what, "give it a copy there, or leave one of the two out")

    def _shows_part(self, i: int, j: int) -> bool:
        """Whether argument number `j` may be a view of number `i`, a tensor that is changed, or have it in it: it is written
        with the name of that."""
        passed = self._passed(j)
        other = is_plain(passed) or isinstance(passed, Special) and not is_held_tensor(passed)
        if max(i, j) >= self.own or i == j or other or not is_array(self._passed(i)) or self.names[i] in self.always:
            return False
        whole, written = self._argument_node(i), self._argument_node(j)
        if whole is None or written is None:
            return whole is None
        is_new = is_array(passed) and (fresh(self.f, written, passed) or gives_new_memory(self.f, written))
        return root_of(whole) in names_in(written) and not is_new

    def _only_rebinds(self, i: int) -> bool:
        """Whether parameter number `i` is a `nonlocal` name or an attribute to which the function only gives other tensors, so
        that no other name sees a change: neither it nor a function that it calls changes the tensor in place."""
        if i >= self.own and is_array(self._passed(i)):
            keys = (key for key in self.program.changed_by if key[0] is self.function)
            return not any(self.names[i] in self.program.changed_by[key] for key in keys)
        if self.names[i] not in self.always or not is_array(self._passed(i)):
            return False
        return not changes_in_place(self.function, class_of(owner_of(self.values)), self.names[i], self.program.changing)

    def _passed(self, i: int) -> Value:
        """The value for parameter number `i`, as the caller has it."""
        return self.as_given[i] if i < self.own else self.f.env[self.names[i]]

    def _is_given_back(self, i: int) -> bool:
        if self.names[i] in self.always:
            return True
        return self.program.may_change(self.function, class_of(owner_of(self.values)), self.names[i], self.values[i])

    def _keep_beside(self, i: int) -> None:
        """Note of an argument that the function changes if it is an object of the instance, which other objects may refer to:
        from here on the values of its fields are kept beside it (`evaluator/changes/written_fields.py`)."""
        t = type_or_none(self.values[i])
        if self.names[i] in self.always or not isinstance(t, DataT) or not self._of_sample(t.name):
            return
        if not self._is_alone(i):
            self.program.carried.unions.add(t.name)
            self.program.changed = self.program.incomplete = True

    def _of_sample(self, union: str) -> bool:
        """Whether all classes of a union are ordinary ones, of the sample."""
        datatypes = self.program.datatypes
        classes = datatypes.cases.get(union, ())
        return bool(classes) and all(c in datatypes.seen and not issubclass(c, (RecordOf, tuple)) for c in classes)

    def _is_alone(self, i: int) -> bool:
        """Whether nothing but the expression that the call has for parameter number `i` refers to its value."""
        written = self._argument_node(i)
        name = None if written is None else root_of(written)
        owned = self.f.owned_arguments
        return name in owned and (isinstance(written, ast.Name) or deep(str(name)) in owned)

    def _owned_inside(self) -> Claims:
        """The claims (`ownership`) that the callee may make on what is inside of the parameters that it changes: it may change
        that in place too where nothing in the calling function refers to it."""
        claims_made: Claims = set()
        for i in self.changed:
            written = self._argument_node(i) if i < self.own else None
            name = None if written is None else root_of(written)
            if name is not None and deep(name) in self.f.owned_arguments:
                claims_made |= {deep(self.names[i]), spine(self.names[i])}
            elif isinstance(written, ast.Name) and spine(written.id) in self.f.owned_arguments:
                claims_made.add(spine(self.names[i]))
        return claims_made

    def _owned_of(self, name: str) -> Claims:
        """The claims (`ownership`) that the callee may make on a list or object that is an attribute of a module. Where its
        type is not known yet they are all claims: a later round asks again."""
        f = self.f
        if name in self.program.carried.attributes and is_unknown(f.env[name]) and not is_empty(f.env[name]):
            return claims(name)
        if f.env[name] is NOTHING and changeable(f, self.program.carried.types[name]):
            return claims(name) & f.owned  # that of the callee is a list that may have no value yet
        if not self.program.carried.may_be_seen(f, name):
            return set()
        lost: Claims = set()
        objects = self.program.carried.objects
        for i in range(self.own):
            written = self._argument_node(i)
            if written is None or not self._sees_changes(i):
                continue
            if name in lists_reached(f, written) if name in objects else root_in_scope(f, written) == name:
                lost |= claims(name)
        return (tracked(name) if name in objects else claims(name)) & f.owned - lost

    def _sees_changes(self, i: int) -> bool:
        """Whether argument number `i` may show a change of what it, or a part of it, also is elsewhere."""
        return changeable(self.f, type_or_none(self._passed(i))) or is_array(self._passed(i))

    def _note_changed_in_place(self, changed: Set[str]) -> None:
        """Note what the function changes in place, of which `changed` has the names. Raises Refused if that is a list over
        which a loop around the call walks."""
        for i in self.changed:
            written = self._argument_node(i) if i < self.own else None
            name = self.names[i] if i >= self.own else written and root_of(written)
            if not name or self.names[i] not in changed:
                continue
            self.f.changed_in_place.add(name)
            if walked(name) in self.f.owned and name not in self.program.carried.objects:
                what = f"`{self.called}` changes {self.f.shown(name)}, which a loop around the call walks over"
                raise Refused(what, "walk over a copy: `list(...)`")

    def _note_moves(self, moves: Set[Moved]) -> None:
        """Note what the function does to the items of lists, by the names that the caller has for these. Those that are its
        own may be shared lists (`shared_lists`), which have names elsewhere."""
        for path, how, _ in moves:
            own = path if is_hidden(path.root) else replace(path, root=hidden(path.root))
            if path.root in self.names[: self.own] and not path.attribute and how != "=":
                written = self._argument_node(self.names.index(path.root))
                path = own if written is None else path_of(written).item(path.items)
            elif path.root not in self.names and not path.attribute:
                path = own
            self.f.moves.append(Moved(path, how, True))

    def _give_back(self, new: dict[int, Value]) -> None:
        """Give the caller's names the values that the function has changed, by the number of the parameter. Raises Refused if
        something else may hold the list or object."""
        forgets = not isinstance(self.node, ast.Call) and any(isinstance(self.names[i], Memo) for i in new)
        if forgets and any(i >= self.own for i in new):
            raise Refused(f"`{self.called}` remembers its results, and changes an attribute", "leave out the cache")
        for i, value in new.items():
            if i >= self.own:  # its name is the same in all functions
                self.f.keep(self.names[i], value)
        for i, value in new.items():
            if i < self.own:
                self._give_back_one(i, value)

    def _name_given(self, parameter: str) -> str:
        """The name that the call gives for a parameter which the function changes; "" where it gives no name."""
        i = self.names.index(parameter) if parameter in self.names[: self.own] else -1
        written = self._argument_node(i) if i in self.changed else None
        return written.id if isinstance(written, ast.Name) else ""

    def _give_back_one(self, i: int, value: Value) -> None:
        f = self.f
        if not isinstance(self.node, ast.Call) and isinstance(self.names[i], Memo):
            return  # what is remembered in this call is computed again in the next one: `nested.as_argument` allows for that
        if not isinstance(self.node, ast.Call):
            raise Refused("a function that changes a list it is given is called by name here")
        written = self._argument_node(i)
        name = None if written is None else root_of(written)
        if kind(self.as_given[i]) == "iterator" and not isinstance(written, (ast.Name, ast.Attribute)):
            return  # it was made for this call
        if isinstance(written, ast.Name) and is_iterator(f.env.get(written.id)):
            return  # nothing reads that name again (`lists/named_iterators.py`)
        if written is None or name is None:
            if written is not None and isinstance(written, ast.Call) and not self._made_for_the_call(i, written):
                raise Refused("this call changes what another call gives", "give that a name first")
            if written is not None and _is_part_or_one_of_several(written) and not self._is_new(i, written):
                note_seen_elsewhere(f, self._passed(i))
                note_list_seen_elsewhere(f, written, type_or_none(self._passed(i)))
                what = f"this call changes what `{ast.unparse(written)}` gives, which may be seen under another name"
                raise Refused(what, "give it a name first, or call the function in a branch for each of the two")
            if written is None and self.names[i] in self.given:
                what = f"`{self.called}` changes what `{self.names[i]}` is given here, of which the call does not have the name"
                raise Refused(what, "call the function by its name, with the list or object among its arguments")
            return  # the list was made for this call and has no name here
        whole = isinstance(written, ast.Name)
        bound_anew = self.names[i] in self.always and not (
            is_container(self._passed(i)) and changed_in_place(self.function, self.names[i])
        )
        if not bound_anew and (name not in f.owned_arguments or not whole and deep(name) not in f.owned_arguments):
            note_seen_elsewhere(f, self._passed(i))
            note_list_seen_elsewhere(f, written, type_or_none(self._passed(i)))
            what = f"this call changes a list or an object that may be seen under another name than `{ast.unparse(written)}`"
            raise Refused(what, f"give it a list of its own: `{name} = list({name})`" if whole else "make a copy first")
        if isinstance(value, Dyn) and value.type == UNKNOWN:
            return
        if whole:
            if self.names[i] in self.always:
                f.moves.append(Moved(ListPath(name), "=", True))
            still = claims(name) & f.owned_arguments
            f.rebind(name, value)
            f.owned |= still
            f.mutated.add(name)
            return
        f.owned |= claims(name)
        place_and_value = place(f, self.node, written, "this call", None)
        if place_and_value is not None:
            place_and_value[0].put(value)

    def _is_new(self, i: int, written: ast.expr) -> bool:
        """Whether nothing else refers to argument number `i`, which is one of several values or a part of one."""
        whole = written
        while isinstance(whole, (ast.Subscript, ast.Attribute)):
            whole = whole.value
        if isinstance(whole, ast.Call) and fresh_inside(self.f, whole):
            return True
        return fresh(self.f, written, self._passed(i))

    def _made_for_the_call(self, i: int, written: ast.Call) -> bool:
        """Whether argument number `i`, which a call gives, is new: `Parser(text).parse()`, where nothing else refers to the
        object or to what is in it, so that nobody can see a change of it."""
        passed = self._passed(i)
        new = is_object(passed) and fresh(self.f, written, passed) and fresh_inside(self.f, written, type_or_none(passed))
        return new or fresh(self.f, written, None) or is_array(passed) and gives_new_memory(self.f, written)


def _is_part_or_one_of_several(written: ast.expr) -> bool:
    """Whether an expression gives one of several values, as `a if test else b` does, or a part of one, of a display or of what
    a call gives."""
    whole = written
    while isinstance(whole, (ast.Subscript, ast.Attribute)):
        whole = whole.value
    several = isinstance(whole, (ast.IfExp, ast.BoolOp, ast.NamedExpr))
    return several or whole is not written and isinstance(whole, (ast.List, ast.Tuple, ast.Dict, ast.Call))


def _same(one: n.Atom, other: n.Atom) -> bool:
    """Whether two values of the program are the same list, object or tensor; of an empty list the place in the source tells."""
    if isinstance(one, EmptyPlaceholder) or isinstance(other, EmptyPlaceholder):
        return isinstance(one, EmptyPlaceholder) and isinstance(other, EmptyPlaceholder) and one.span == other.span
    return isinstance(one, n.Var) and bool(one.name) and one == other
