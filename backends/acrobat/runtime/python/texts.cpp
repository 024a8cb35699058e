#include "texts.h"

#include <vector>

#include "../session.h"
#include "exceptions.h"
#include "side.h"

namespace acrobat {
namespace texts {

// The result of a function of Python. Throws InstanceError with Python's message if the function has set an exception.
Ref result_or_error(PyObject* result) {
    if (result) return Ref(result);
    Ref exception(take_exception());
    throw InstanceError(exception_text(exception.get()));
}

// The string that has a number. Throws InstanceError for the number of a member of an Enum.
Ref string(Session& s, int64_t number) {
    Ref text(s.python->symbols.value(number));
    if (PyUnicode_Check(text.get())) return text;
    Ref representation(result_or_error(PyObject_Repr(text.get())));
    throw InstanceError(std::string("TypeError: a string is needed here, not ") + PyUnicode_AsUTF8(representation.get()));
}

// The number of a string; a new one gets the next number.
int64_t number_of(Session& s, const Ref& text) { return s.python->symbols.number(text.get()); }

// A Python int as one of the program's. Throws InstanceError if it does not fit.
int64_t as_int(const Ref& value) {
    const int64_t number = PyLong_AsLongLong(value.get());
    if (number == -1 && PyErr_Occurred()) result_or_error(nullptr);
    return number;
}

// `format(value, how)`
int64_t formatted(Session& s, int64_t how, const Ref& value) {
    return number_of(s, result_or_error(PyObject_Format(value.get(), string(s, how).get())));
}

// `re.compile(pattern)`, which the module `re` remembers.
Ref compiled(Session& s, int64_t pattern) {
    const Ref re(result_or_error(PyImport_ImportModule("re")));
    return result_or_error(PyObject_CallMethod(re.get(), "compile", "O", string(s, pattern).get()));
}

// Appends what `text_spans` says of one match.
void append_spans(std::vector<int64_t>& places, const Ref& match) {
    const Ref last(result_or_error(PyObject_GetAttrString(match.get(), "lastindex")));
    places.push_back(last.get() == Py_None ? 0 : as_int(last));
    const Ref pattern(result_or_error(PyObject_GetAttrString(match.get(), "re")));
    const int64_t groups = as_int(result_or_error(PyObject_GetAttrString(pattern.get(), "groups")));
    for (int64_t group = 0; group <= groups; ++group) {
        const Ref span(result_or_error(PyObject_CallMethod(match.get(), "span", "n", Py_ssize_t(group))));
        for (Py_ssize_t end = 0; end < 2; ++end) places.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(span.get(), end)));
    }
}

}  // namespace texts

using namespace texts;

List<int64_t> text_letters(Session& s, int64_t text) {
    const Ref word = string(s, text);
    List<int64_t> out = make_list<int64_t>(s.cx.host, PyUnicode_GET_LENGTH(word.get()));
    for (int64_t i = 0; i < out.size; ++i) out.data[i] = number_of(s, result_or_error(PyUnicode_Substring(word.get(), i, i + 1)));
    return out;
}

int64_t text_joined(Session& s, const List<int64_t>& texts) {
    Ref joined(result_or_error(PyUnicode_FromString("")));
    for (int64_t i = 0; i < texts.size; ++i) joined = result_or_error(PyUnicode_Concat(joined.get(), string(s, texts[i]).get()));
    return number_of(s, joined);
}

int64_t text_method(Session& s, int64_t name, int64_t text) {
    const Ref result = result_or_error(PyObject_CallMethodNoArgs(string(s, text).get(), string(s, name).get()));
    return PyUnicode_Check(result.get()) ? number_of(s, result) : as_int(result);
}

int64_t text_int(Session& s, int64_t text) { return as_int(result_or_error(PyLong_FromUnicodeObject(string(s, text).get(), 10))); }

double text_float(Session& s, int64_t text) {
    return PyFloat_AsDouble(result_or_error(PyFloat_FromString(string(s, text).get())).get());
}

int64_t text_code(Session& s, int64_t text) {
    const Ref letter = string(s, text);
    if (PyUnicode_GET_LENGTH(letter.get()) != 1) {
        const std::string size = std::to_string(PyUnicode_GET_LENGTH(letter.get()));
        throw InstanceError("TypeError: ord() expected a character, but string of length " + size + " found");
    }
    return PyUnicode_READ_CHAR(letter.get(), 0);
}

int64_t text_from_int(Session& s, int64_t how, int64_t value) {
    return formatted(s, how, result_or_error(PyLong_FromLongLong(value)));
}

int64_t text_from_float(Session& s, int64_t how, double value) {
    return formatted(s, how, result_or_error(PyFloat_FromDouble(value)));
}

int64_t text_from_text(Session& s, int64_t how, int64_t value) { return formatted(s, how, string(s, value)); }

int64_t text_part(Session& s, int64_t text, int64_t start, int64_t stop) {
    return number_of(s, result_or_error(PySequence_GetSlice(string(s, text).get(), Py_ssize_t(start), Py_ssize_t(stop))));
}

List<int64_t> text_spans(Session& s, int64_t pattern, int64_t how, int64_t text, int64_t start) {
    const Ref word = string(s, text);
    const Ref own = compiled(s, pattern), method = string(s, how);
    const char* name = PyUnicode_AsUTF8(method.get());
    const Ref match(result_or_error(PyObject_CallMethod(own.get(), name, "On", word.get(), Py_ssize_t(start))));
    std::vector<int64_t> places;
    if (PyIter_Check(match.get())) {
        while (PyObject* next = PyIter_Next(match.get())) append_spans(places, Ref(next));
        if (PyErr_Occurred()) result_or_error(nullptr);
    } else if (match.get() != Py_None) {
        append_spans(places, match);
    }
    List<int64_t> out = make_list<int64_t>(s.cx.host, int64_t(places.size()));
    std::copy(places.begin(), places.end(), out.begin());
    return out;
}

int64_t text_replaced(Session& s, int64_t pattern, int64_t replacement, int64_t text, int64_t count) {
    const Ref word = string(s, text), by = string(s, replacement);
    const Ref own = compiled(s, pattern);
    return number_of(s, result_or_error(PyObject_CallMethod(own.get(), "sub", "OOn", by.get(), word.get(), Py_ssize_t(count))));
}

}  // namespace acrobat
