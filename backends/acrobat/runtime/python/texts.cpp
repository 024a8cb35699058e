#include "texts.h"

#include "../session.h"
#include "exceptions.h"
#include "side.h"

namespace acrobat {
namespace texts {

// A result of Python's, or the exception that it set, as an error of the instance.
Ref given(PyObject* result) {
    if (result) return Ref(result);
    Ref exception(take_exception());
    throw InstanceError(exception_text(exception.get()));
}

Ref string(Session& s, int64_t number) {
    Ref text(s.python->symbols.value(number));
    if (PyUnicode_Check(text.get())) return text;
    Ref written(given(PyObject_Repr(text.get())));
    throw InstanceError(std::string("TypeError: a string is needed here, not ") + PyUnicode_AsUTF8(written.get()));
}

int64_t numbered(Session& s, const Ref& text) { return s.python->symbols.number(text.get()); }

int64_t as_int(const Ref& value) {
    const int64_t found = PyLong_AsLongLong(value.get());
    if (found == -1 && PyErr_Occurred()) given(nullptr);
    return found;
}

}  // namespace texts

using namespace texts;

List<int64_t> text_letters(Session& s, int64_t text) {
    const Ref whole = string(s, text);
    List<int64_t> out = make_list<int64_t>(s.cx.host, PyUnicode_GET_LENGTH(whole.get()));
    for (int64_t i = 0; i < out.size; ++i) out.data[i] = numbered(s, given(PyUnicode_Substring(whole.get(), i, i + 1)));
    return out;
}

int64_t text_joined(Session& s, const List<int64_t>& texts) {
    Ref whole(given(PyUnicode_FromString("")));
    for (int64_t i = 0; i < texts.size; ++i) whole = given(PyUnicode_Concat(whole.get(), string(s, texts[i]).get()));
    return numbered(s, whole);
}

int64_t text_method(Session& s, int64_t name, int64_t text) {
    const Ref result = given(PyObject_CallMethodNoArgs(string(s, text).get(), string(s, name).get()));
    return PyUnicode_Check(result.get()) ? numbered(s, result) : as_int(result);
}

int64_t text_shown(Session& s, int64_t number) {
    return numbered(s, given(PyUnicode_FromFormat("%lld", static_cast<long long>(number))));
}

int64_t text_int(Session& s, int64_t text) { return as_int(given(PyLong_FromUnicodeObject(string(s, text).get(), 10))); }

double text_float(Session& s, int64_t text) {
    return PyFloat_AsDouble(given(PyFloat_FromString(string(s, text).get())).get());
}

int64_t text_code(Session& s, int64_t text) {
    const Ref letter = string(s, text);
    if (PyUnicode_GET_LENGTH(letter.get()) != 1) {
        const std::string size = std::to_string(PyUnicode_GET_LENGTH(letter.get()));
        throw InstanceError("TypeError: ord() expected a character, but string of length " + size + " found");
    }
    return PyUnicode_READ_CHAR(letter.get(), 0);
}

}  // namespace acrobat
