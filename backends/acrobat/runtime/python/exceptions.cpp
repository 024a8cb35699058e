#include "exceptions.h"

namespace acrobat {

PyObject* take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type) return nullptr;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

void set_error(PyObject* type, const std::string& message, PyObject* cause) {
    PyErr_SetString(type, message.c_str());
    if (!cause) return;
    PyObject* raised = take_exception();
    Py_INCREF(cause);
    PyException_SetCause(raised, cause);
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(raised);
#else
    Py_INCREF(Py_TYPE(raised));
    PyErr_Restore(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised, PyException_GetTraceback(raised));
#endif
}

std::string utf8_or(const Ref& string, const char* otherwise) {
    const char* utf8 = string ? PyUnicode_AsUTF8(string.get()) : nullptr;
    if (!utf8) PyErr_Clear();
    return utf8 ? utf8 : otherwise;
}

std::string exception_text(PyObject* exception) {
    return type_name(exception) + ": " + utf8_or(Ref(PyObject_Str(exception)), "?");
}

}  // namespace acrobat
