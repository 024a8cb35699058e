// Operations on strings, which the program has as numbers (`Symbols`). Each does what Python does with the strings themselves
// and throws InstanceError where that raises an exception.
#pragma once

#include "../values.h"

namespace acrobat {

struct Session;

// The letters of a string, each a string.
List<int64_t> text_letters(Session& s, int64_t text);
// Several strings as one.
int64_t text_joined(Session& s, const List<int64_t>& texts);
// What the method of strings that is named `name`, which has no arguments, gives: a string, or whether the string passes a test.
int64_t text_method(Session& s, int64_t name, int64_t text);
// `int(text)`, `float(text)`, `ord(text)`
int64_t text_int(Session& s, int64_t text);
double text_float(Session& s, int64_t text);
int64_t text_code(Session& s, int64_t text);
// `format(value, how)`
int64_t text_from_int(Session& s, int64_t how, int64_t value);
int64_t text_from_float(Session& s, int64_t how, double value);
int64_t text_from_text(Session& s, int64_t how, int64_t value);
// `text[start:stop]`
int64_t text_part(Session& s, int64_t text, int64_t start, int64_t stop);
// Where a regular expression matches from `start` on, by its method `how`: `search`, `match`, `fullmatch` or `finditer`. Of each
// match the group that ended last (0 for none), and the start and end of the whole and of each group (-1 for one without a part).
List<int64_t> text_spans(Session& s, int64_t pattern, int64_t how, int64_t text, int64_t start);
// `re.sub(pattern, replacement, text, count)`
int64_t text_replaced(Session& s, int64_t pattern, int64_t replacement, int64_t text, int64_t count);

}  // namespace acrobat
