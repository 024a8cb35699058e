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

}  // namespace acrobat
