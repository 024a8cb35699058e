"""Where the source makes lists, sets and dictionaries, and which of these are met under several names while they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.instances.shared import NO_ELEMENTS, Noted, SharedGroup, Site


class ListSites:
    """The places of the source that make lists, as one attempt meets them."""

    def __init__(self, shared: Sequence[SharedGroup]) -> None:
        """`shared` are the places whose lists are shared ones in this attempt."""
        self._shared = shared
        self.types: dict[Site, Any] = {}  # place -> the type of the lists, sets and dictionaries made there
        self.in_attributes: dict[str, set[Site]] = {}  # attribute -> the places that make what attributes of this name get
        self.changed_elsewhere: list[Noted] = []  # lists that are changed while other names may refer to them
        self._at: dict[Span, Site] = {}  # the position at which problems are reported -> the place there

    def note_elements(self, span: Span, type: Any) -> None:
        """Note the type of a list made at a place where that of its elements was not known."""
        if span in self._at and isinstance(type, ListT) and type.item not in NO_ELEMENTS:
            self.types[self._at[span]] = type

    def displayed_in(self, attribute: str) -> set[Site]:
        """The places that make the elements of what attributes of this name get, as in `self.rows = {0: [], 1: []}`. None if
        these are dictionaries that give values for missing keys, which other places make."""
        found: set[Site] = set()
        for outer in self.in_attributes.get(attribute, ()):
            inside = [s for s in self.types if s != outer and _is_inside(s, outer)]
            found.update(s for s in inside if not any(s != other and _is_inside(s, other) for other in inside))
        return found if all(self.types[s].kind.missing is None for s in found) else set()

    def note_beside_shared(self, span: Span, type: Any, cls: type) -> None:
        """Note that a list of a type, made at the place with that position, stands where shared lists of a class do. The places
        that make these and that one make lists of one class in the next attempt."""
        sites = next((g.sites for g in self._shared if g.cls is cls), frozenset())
        if span in self._at and sites:
            self.changed_elsewhere.append((type, sites | {self._at[span]}))

    def shared_class(self, site: Site, span: Span, type: Any) -> type | None:
        """The class of the shared lists that are made at a place, of which the values have that type; None where the lists are
        plain ones."""
        if type.item not in NO_ELEMENTS or site not in self.types:
            self.types[site] = type
        self._at[span] = site
        return next((g.cls for g in self._shared if site in g.sites), None)


def _is_inside(one: Site, other: Site) -> bool:
    return one[0] == other[0] and other[1:3] <= one[1:3] and one[3:] <= other[3:]
