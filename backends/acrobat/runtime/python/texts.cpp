#include "texts.h"

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

}  // namespace acrobat
