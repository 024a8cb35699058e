// Reads instances from Python objects into flat arrays: words, children, heights. Elements are numbered in the order of
// reading, in trees children before their parents.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace cortex {

struct BadInstance : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct PythonError {};  // Python's exception is set

// A field of a class, read at its slot's offset where it has one.
class Field {
   public:
    void set(PyObject* cls, const char* name) {
        name_ = PyUnicode_InternFromString(name);
        offset_ = -1;
        PyObject* found = PyObject_GetAttr(cls, name_);
        if (!found) PyErr_Clear();
        if (found && Py_TYPE(found) == &PyMemberDescr_Type) {
            const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
            if (member->type == T_OBJECT_EX) offset_ = member->offset;
        }
        Py_XDECREF(found);
    }
    // The value of the field, as a borrowed reference: the instance owns it, or, if it was made just now, as by a property, `kept`.
    PyObject* of(PyObject* o, std::vector<PyObject*>& kept) const {
        if (offset_ >= 0)
            if (PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + offset_)) return value;
        PyObject* value = PyObject_GetAttr(o, name_);
        if (!value) throw PythonError{};
        if (Py_REFCNT(value) == 1)
            kept.push_back(value);
        else
            Py_DECREF(value);
        return value;
    }

   private:
    PyObject* name_ = nullptr;
    Py_ssize_t offset_ = -1;
};

// What was read of a mini-batch; unless said otherwise there is one entry for each element.
struct Elements {
    std::vector<int64_t> word;     // as given: from the end of the table if it is negative
    std::vector<int32_t> height;   // in the first recursion
    std::vector<int32_t> behind;   // in the second recursion, which goes the other way
    std::vector<int32_t> child;    // `slots` for each element; with any number of them, from first[i] to first[i + 1] for i
    std::vector<int32_t> first;
    std::vector<int32_t> parent;   // -1: a root
    std::vector<int32_t> root;     // for each instance its root, or its roots in the order of the reader's fields
    std::vector<int32_t> extent;   // for each instance its length, or its height and width

    void clear() {
        for (auto* v : {&height, &behind, &child, &first, &parent, &root, &extent}) v->clear();
        word.clear();
        first.push_back(0);
    }
    int32_t size() const { return int32_t(height.size()); }
};

inline std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

class Reader {
   public:
    // How many words there are for leaves of trees, and for other nodes, sequences and grids: the rows of the shortest table that
    // their case reads. 0: it reads none, and words are not looked at.
    int64_t leaf_words = 0, inner_words = 0;
    int slots = 0;
    PyTypeObject* leaf = nullptr;
    PyTypeObject* node = nullptr;
    Field leaf_word, node_word;
    std::vector<Field> children;
    PyTypeObject* instance = nullptr;  // what holds the trees of an instance with several, in the fields `roots`
    std::vector<Field> roots;

    void tree(Elements& e, PyObject* o) {
        if (!instance) return e.root.push_back(element(e, o));
        if (!PyObject_TypeCheck(o, instance)) throw BadInstance(std::string("expected a ") + instance->tp_name + ", got " + type_name(o));
        for (const Field& field : roots) e.root.push_back(element(e, field.of(o, kept_)));
    }

    void chain(Elements& e, PyObject* o) {
        const auto [items, length] = list(o, "a list of words");
        e.extent.push_back(int32_t(length));
        for (Py_ssize_t i = 0; i < length; ++i) {
            e.word.push_back(word(items[i], inner_words));
            e.child.push_back(i ? e.size() - 1 : -1);
            e.height.push_back(int32_t(i));
            e.behind.push_back(int32_t(length - 1 - i));
        }
    }

    void grid(Elements& e, PyObject* o) {
        const auto [rows, height] = list(o, "a list of rows");
        if (height == 0) throw BadInstance("expected a grid of at least one row");
        Py_ssize_t width = -1;
        for (Py_ssize_t y = 0; y < height; ++y) {
            const auto [cells, found] = list(rows[y], "a row of words");
            if (width >= 0 && found != width)
                throw BadInstance("row " + std::to_string(y) + " has " + std::to_string(found) + " cells, the rows before it " + std::to_string(width));
            width = found;
            for (Py_ssize_t x = 0; x < width; ++x) {
                const int32_t here = e.size();
                e.word.push_back(word(cells[x], inner_words));
                e.child.push_back(y ? here - int32_t(width) : -1);
                e.child.push_back(x ? here - 1 : -1);
                e.height.push_back(int32_t(y + x));
            }
        }
        e.extent.push_back(int32_t(height));
        e.extent.push_back(int32_t(width));
    }

   private:
    struct Items {
        PyObject** items;
        Py_ssize_t size;
    };
    static Items list(PyObject* o, const char* wanted) {
        if (!PyList_Check(o) && !PyTuple_Check(o)) throw BadInstance(std::string("expected ") + wanted + ", got " + type_name(o));
        return {PySequence_Fast_ITEMS(o), PySequence_Fast_GET_SIZE(o)};
    }

    static int64_t word(PyObject* o, int64_t vocabulary) {
        if (!vocabulary) return 0;
        if (!PyLong_Check(o)) throw BadInstance("expected the number of a word, got " + type_name(o));
        int overflow = 0;
        const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) throw BadInstance("the word is a number of more than 64 bits");
        if (value < -vocabulary || value >= vocabulary)
            throw BadInstance("the word " + std::to_string(value) + " is none of the " + std::to_string(vocabulary) + " of the vocabulary");
        return value;
    }
    int64_t word_of(const Field& field, PyObject* o, int64_t vocabulary) {
        return vocabulary ? word(field.of(o, kept_), vocabulary) : 0;
    }

    int32_t finished(Elements& e, int64_t word, int32_t height) {
        e.word.push_back(word);
        e.height.push_back(height);
        e.parent.push_back(-1);
        return e.size() - 1;
    }

    int32_t element(Elements& e, PyObject* o) {
        if (Py_TYPE(o) == leaf || (Py_TYPE(o) != node && PyObject_TypeCheck(o, leaf))) {
            const int32_t here = finished(e, word_of(leaf_word, o, leaf_words), 0);
            for (int k = 0; k < slots; ++k) e.child.push_back(-1);
            e.first.push_back(int32_t(e.child.size()));
            return here;
        }
        if (Py_TYPE(o) != node && !PyObject_TypeCheck(o, node))
            throw BadInstance(std::string("expected a ") + leaf->tp_name + " or a " + node->tp_name + ", got " + type_name(o));
        const Level level;
        const size_t below = pending_.size();
        int32_t height = 0;
        const auto read = [&](PyObject* part) {
            const int32_t child = element(e, part);
            pending_.push_back(child);
            height = std::max(height, e.height[size_t(child)] + 1);
        };
        if (slots) {
            for (const Field& field : children) read(field.of(o, kept_));
        } else {
            const auto [items, size] = list(children[0].of(o, kept_), "a list of children");
            if (size == 0) throw BadInstance("a node without children");
            for (Py_ssize_t i = 0; i < size; ++i) read(items[i]);
        }
        const int32_t here = finished(e, word_of(node_word, o, inner_words), height);
        for (size_t i = below; i < pending_.size(); ++i) {
            e.child.push_back(pending_[i]);
            e.parent[size_t(pending_[i])] = here;
        }
        e.first.push_back(int32_t(e.child.size()));
        pending_.resize(below);
        return here;
    }

    // Counts a level of nesting against Python's recursion limit while it exists, also if reading throws.
    struct Level {
        Level() {
            if (Py_EnterRecursiveCall(" while a tree is read")) throw PythonError{};
        }
        ~Level() { Py_LeaveRecursiveCall(); }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
    };

   public:
    // To be called before and after a mini-batch is read.
    void reset() {
        pending_.clear();
        for (PyObject* o : kept_) Py_DECREF(o);
        kept_.clear();
    }

   private:
    std::vector<PyObject*> kept_;   // values of fields that no instance owns
    std::vector<int32_t> pending_;  // children whose parent has not been read to its end
};

}  // namespace cortex
