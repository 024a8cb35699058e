"""Regular expressions on strings that are known at run time only. Where one matches is found by Python's `re`, through
`words.spans`: for each match the number of the group that ended last, then the start and end of the whole and of each group.
`names` are the names of the groups, from 0 on, "" for one without a name."""

from backends.acrobat.library.words import part, replaced, spans, unrolled


class TextMatch:
    """What `re.match` and the like give, for a pattern of which each group takes part in each match."""

    def __init__(self, string, places, names):
        self.string = string
        self.places = places
        self.names = names

    def number(self, which):
        if which is None:
            raise IndexError("no such group")
        if isinstance(which, str):
            if which not in self.names:
                raise IndexError("no such group")
            return self.names.index(which)
        if which < 0 or which >= len(self.names):
            raise IndexError("no such group")
        return which

    def text(self, number):
        return part(self.string, self.places[1 + 2 * number], self.places[2 + 2 * number])

    def group(self, *which):
        if len(which) == 0:
            return part(self.string, self.places[1], self.places[2])
        if len(which) == 1:
            return self.text(self.number(which[0]))
        return tuple([self.text(self.number(one)) for one in which])

    def __getitem__(self, which):
        return self.text(self.number(which))

    def groups(self, default=None):
        return tuple([self.text(i) for i in range(1, len(self.names))])

    def groupdict(self, default=None):
        return {name: self.text(i) for i, name in enumerate(self.names) if name}

    def start(self, which=0):
        return self.places[1 + 2 * self.number(which)]

    def end(self, which=0):
        return self.places[2 + 2 * self.number(which)]

    def span(self, which=0):
        number = self.number(which)
        return self.places[1 + 2 * number], self.places[2 + 2 * number]

    @property
    def lastindex(self):
        return self.places[0] if self.places[0] > 0 else None

    @property
    def lastgroup(self):
        name = self.names[self.places[0]]
        return name if name else None


class PartialTextMatch(TextMatch):
    """What `re.match` and the like give, for a pattern of which some groups may take no part in a match."""

    def text(self, number):
        if self.places[1 + 2 * number] < 0:
            return None
        return part(self.string, self.places[1 + 2 * number], self.places[2 + 2 * number])

    def groups(self, default=None):
        return tuple([self.text_or(i, default) for i in range(1, len(self.names))])

    def groupdict(self, default=None):
        return {name: self.text_or(i, default) for i, name in enumerate(self.names) if name}

    def text_or(self, number, default):
        return default if self.places[1 + 2 * number] < 0 else self.text(number)


def matched(pattern, how, string, start, names, cls):
    """The first match as an object of `cls`, by the method `how` of patterns, or None."""
    places = spans(pattern, how, string, start)
    return cls(string, places, list(names)) if places else None


def matches(pattern, string, start, names, cls):
    """`re.finditer`, as a list."""
    places, size = spans(pattern, "finditer", string, start), 1 + 2 * len(names)
    return [cls(string, places[i : i + size], list(names)) for i in range(0, len(places), size)]


def piece(string, start, end):
    return part(string, start, end) if start >= 0 else ""


def find_all(pattern, string, start, groups):
    """`re.findall`; `groups` are the numbers of the groups of which each match gives the texts."""
    places, size = spans(pattern, "finditer", string, start), 3 + 2 * len(groups)
    if len(groups) == 0:
        return [part(string, places[i + 1], places[i + 2]) for i in range(0, len(places), size)]
    if len(groups) == 1:
        return [piece(string, places[i + 3], places[i + 4]) for i in range(0, len(places), size)]
    return [
        tuple(piece(string, places[i + 1 + 2 * g], places[i + 2 + 2 * g]) for g in unrolled(groups))
        for i in range(0, len(places), size)
    ]


def divided(pattern, string, most, groups, certain):
    """`re.split`; where not `certain`, groups that take no part in a match give None."""
    places, size = spans(pattern, "finditer", string, 0), 3 + 2 * len(groups)
    parts = []
    end = 0
    for i in range(0, len(places), size):
        if most != 0 and i // size >= most:
            break
        parts.append(part(string, end, places[i + 1]))
        for g in unrolled(groups):
            if certain:
                parts.append(part(string, places[i + 1 + 2 * g], places[i + 2 + 2 * g]))
            else:
                parts.append(part(string, places[i + 1 + 2 * g], places[i + 2 + 2 * g]) if places[i + 1 + 2 * g] >= 0 else None)
        end = places[i + 2]
    parts.append(part(string, end, len(string)))
    return parts


def by_function(function, pattern, string, most, names, cls):
    """`re.sub` with a function that gives the new text of a match."""
    parts = []
    end = 0
    for i, match in enumerate(matches(pattern, string, 0, names, cls)):
        if most != 0 and i >= most:
            break
        parts.append(part(string, end, match.start()))
        parts.append(function(match))
        end = match.end()
    parts.append(part(string, end, len(string)))
    return "".join(parts)


def by_template(pattern, template, string, most):
    """`re.sub` with a text in which `\\\\1` and the like stand for groups."""
    return replaced(pattern, template, string, most)
