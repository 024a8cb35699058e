"""`format` with a template that is known at run time only."""

from backends.acrobat.library.strings import place
from backends.acrobat.library.words import joined, letters


def filled(template, texts):
    """`template.format(*texts)`, where the fields of the template are `{}` or `{0}`. Raises ValueError for others."""
    inside = letters(template)
    parts = []
    unnumbered = 0  # by fields without a number
    numbered = False
    at = 0
    while at < len(inside):
        letter = inside[at]
        if letter not in "{}":
            parts.append(letter)
            at += 1
        elif at + 1 < len(inside) and inside[at + 1] == letter:
            parts.append(letter)
            at += 2
        else:
            end = place(template, "}", at)
            if letter == "}" or end < 0:
                raise ValueError("a single brace in the template of `format`")
            name = joined(inside[at + 1 : end])
            which = unnumbered
            if len(name) > 0:
                if not name.isdigit():
                    raise ValueError(f"the field {name!r} of `format`: in a template of run time fields are empty or a number")
                numbered = True
                which = int(name)
            else:
                unnumbered += 1
            if numbered and unnumbered > 0:
                raise ValueError("`format`: some fields have numbers and some have none")
            if which >= len(texts):
                raise IndexError("`format`: there are fewer arguments than fields")
            parts.append(texts[which])
            at = end + 1
    return joined(parts)
