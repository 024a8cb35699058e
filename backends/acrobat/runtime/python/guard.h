// Checks whether the compiled module has changed. Every call begins with this, so it only compares addresses of objects, and of
// each weight a version counter and its elements, or a few of them. What exactly has changed is found out in Python (frozen.py).
//
// For the 14 weights of a TreeLSTM that takes 1.9 us (2.7 where Python gives dictionaries no versions and all keys are looked up),
// most of it for PyTorch's answers what a weight's version and address are.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tensors.h"

namespace acrobat {

// A number that no dictionary has had before, given at each change of its entries (not of their order); 0 where Python keeps none.
inline uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
    return 0;
#endif
}

// A key that is looked up in the same dictionary again and again. As long as this is unchanged, the value is known without that.
class Lookup {
   public:
    // `key` is borrowed.
    explicit Lookup(PyObject* key = nullptr) : key_(key) {}

    // The value in `dict`, borrowed; null if there is none. May leave an exception set then.
    PyObject* in(PyObject* dict) const {
        const uint64_t version = version_of(dict);
        if (version == 0 || version != version_) {
            value_ = PyDict_GetItemWithError(dict, key_);
            version_ = value_ || !PyErr_Occurred() ? version : 0;
        }
        return value_;
    }

    PyObject* key() const { return key_; }

   private:
    PyObject* key_;
    mutable PyObject* value_ = nullptr;
    mutable uint64_t version_ = 0;  // of the dictionary when it had `value_`
};

// A parameter, a buffer or another tensor that is an attribute (`kind` is None) as it was when `set` was called: the object, its
// version counter, the address of its memory, and what is in this memory: all of it where that is little, else some elements
// spread over it. This shows changes that leave the version counter as it is, such as `.data.mul_`.
class WatchedTensor {
   public:
    // The most bytes that all tensors of a module together have compared as a whole: these are read at every call.
    static constexpr size_t kWholeInAll = 16 << 10;

    // All references are borrowed. `left`: how many bytes of `kWholeInAll` the tensors before have left; gets what is left now.
    void set(const TensorReader& reader, PyObject* kind, PyObject* name, PyObject* reference, size_t& left) {
        kind_ = Lookup(kind);
        name_ = Lookup(name);
        reference_ = reference;
        PyObject* tensor = PyWeakref_GetObject(reference);
        version_ = reader.version(tensor);
        dlpack::Tensor t{};
        address_ = reader.address(tensor);
        if (!reader.look(tensor, t)) return;
        bits_ = t.dtype.bits;
        size_t count = 1;
        for (int d = 0; d < t.ndim; ++d) count *= size_t(t.shape[d]);
        if (t.device.type != 1 || !t.data || count == 0 || bits_ % 8 != 0) return;
        const char* base = static_cast<const char*>(t.data) + t.byte_offset;
        const size_t size = bits_ / 8;
        size_t extent = size;  // bytes from the first element to the end of the last; the storage has them all
        for (int d = 0; d < t.ndim; ++d) extent += size_t(t.shape[d] - 1) * size_t(stride(t, d)) * size;
        if (extent <= std::min(kWhole, left)) {
            left -= extent;
            first_ = base;
            whole_.assign(base, base + extent);
            return;
        }
        const size_t samples = std::min(count, kElements);
        for (size_t i = 0; i < samples; ++i) {
            size_t remaining = samples == 1 ? 0 : i * (count - 1) / (samples - 1);
            int64_t at = 0;
            for (int d = t.ndim - 1; d >= 0; --d) {
                at += int64_t(remaining % size_t(t.shape[d])) * stride(t, d);
                remaining /= size_t(t.shape[d]);
            }
            Element e{base + at * int64_t(size), 0};
            e.value = bits(e.at);
            elements_.push_back(e);
        }
    }

    bool holds(const TensorReader& reader, PyObject* module_dict) const {
        PyObject* own = kind_.key() == Py_None ? module_dict : kind_.in(module_dict);
        PyObject* tensor = own && PyDict_Check(own) ? name_.in(own) : nullptr;
        if (!tensor || tensor != PyWeakref_GetObject(reference_)) return false;
        // A change of the dtype or device also changes the address.
        if (reader.version(tensor) != version_ || reader.address(tensor) != address_) return false;
        if (!whole_.empty() && std::memcmp(first_, whole_.data(), whole_.size()) != 0) return false;
        uint64_t changed = 0;
        for (const Element& e : elements_) changed |= bits(e.at) ^ e.value;
        return changed == 0;
    }

   private:
    static constexpr size_t kWhole = 1 << 10;  // the most bytes of one tensor that are compared as a whole
    static constexpr size_t kElements = 8;     // how many elements of each other tensor are compared
    struct Element {
        const char* at;
        uint64_t value;
    };

    static int64_t stride(const dlpack::Tensor& t, int dimension) {
        if (t.strides) return t.strides[dimension];
        int64_t stride = 1;
        for (int d = t.ndim - 1; d > dimension; --d) stride *= t.shape[d];
        return stride;
    }
    uint64_t bits(const char* at) const {
        uint32_t single;
        if (bits_ == 32) [[likely]] {
            std::memcpy(&single, at, 4);
            return single;
        }
        uint64_t value = 0;
        std::memcpy(&value, at, std::min<size_t>(bits_ / 8, sizeof(value)));
        return value;
    }

    Lookup kind_, name_;
    PyObject* reference_ = nullptr;
    int64_t version_ = -1;
    uint64_t address_ = 0;
    uint8_t bits_ = 0;
    const char* first_ = nullptr;  // where `whole_`, if it is not empty, was copied from
    std::vector<char> whole_;
    std::vector<Element> elements_;
};

// A list, dictionary or set and what was in it when `set` of the guard was called: a tuple, or of a set a frozenset.
class WatchedContainer {
   public:
    // Both references are borrowed.
    WatchedContainer(PyObject* container, PyObject* elements) : container_(container), elements_(elements), version_(version()) {}

    // May leave an exception set, where elements of a set cannot be compared.
    bool holds() const {
        if (PyAnySet_Check(container_)) return PyObject_RichCompareBool(container_, elements_, Py_EQ) == 1;
        const Py_ssize_t count = PyTuple_GET_SIZE(elements_);
        if (PyList_Check(container_)) {
            if (PyList_GET_SIZE(container_) != count) return false;
            for (Py_ssize_t i = 0; i < count; ++i)
                if (PyList_GET_ITEM(container_, i) != PyTuple_GET_ITEM(elements_, i)) return false;
            return true;
        }
        if (version_ && version() == version_) return true;
        if (2 * PyDict_GET_SIZE(container_) != count) return false;
        if (PyODict_Check(container_)) return ordered();
        Py_ssize_t at = 0;
        PyObject *key, *value;
        for (Py_ssize_t i = 0; PyDict_Next(container_, &at, &key, &value); i += 2)
            if (key != PyTuple_GET_ITEM(elements_, i) || value != PyTuple_GET_ITEM(elements_, i + 1)) return false;
        return true;
    }

   private:
    // Whether an OrderedDict has the entries it had, in the same order. It keeps that order beside the dictionary that it also is.
    bool ordered() const {
        Ref keys(PyODict_Type.tp_iter(container_));
        if (!keys) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(elements_); i += 2) {
            Ref key(PyIter_Next(keys.get()));
            if (key.get() != PyTuple_GET_ITEM(elements_, i)) return false;
            if (PyDict_GetItemWithError(container_, key.get()) != PyTuple_GET_ITEM(elements_, i + 1)) return false;
        }
        return true;
    }

    // 0 for lists and sets, and for an OrderedDict, whose order counts too.
    uint64_t version() const { return PyDict_Check(container_) && !PyODict_Check(container_) ? version_of(container_) : 0; }

    PyObject *container_, *elements_;
    uint64_t version_;
};

class Guard {
   public:
    // `watched` is what `Frozen.watched` returns, `missing` the object that stands for a missing attribute. Throws PythonError.
    void set(PyObject* watched, PyObject* missing, const TensorReader& reader) {
        clear();
        Py_INCREF(watched);
        watched_ = Ref(watched);
        missing_ = missing;
        size_t left = WatchedTensor::kWholeInAll;
        const auto part = [](PyObject* tuple, Py_ssize_t i) { return PyTuple_GET_ITEM(tuple, i); };
        const auto each = [](PyObject* tuple, auto&& use) {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) use(PyTuple_GET_ITEM(tuple, i));
        };
        each(part(watched, 0), [&](PyObject* entry) {
            Module& m = modules_.emplace_back();
            m.reference = part(entry, 0);
            m.type = reinterpret_cast<PyTypeObject*>(part(entry, 1));
            Ref(PyObject_GetAttr(part(entry, 1), forward_));  // makes Python give the type a version, as a lookup does
            PyErr_Clear();
            m.type_version = m.type->tp_version_tag;
            each(part(entry, 2), [&](PyObject* a) { m.attributes.push_back({Lookup(part(a, 0)), part(a, 1)}); });
            each(part(entry, 3), [&](PyObject* c) { m.children.push_back({Lookup(part(c, 0)), part(c, 1)}); });
            each(part(entry, 4), [&](PyObject* t) {
                m.tensors.emplace_back().set(reader, part(t, 0), part(t, 1), part(t, 2), left);
            });
            m.sized = part(entry, 5) == Py_True;
            m.hooks[0] = Lookup(hooks_), m.hooks[1] = Lookup(pre_hooks_), m.submodules = Lookup(children_);
        });
        each(part(watched, 1), [&](PyObject* s) { slots_.push_back({part(s, 0), Lookup(part(s, 1)), part(s, 2)}); });
        each(part(watched, 2), [&](PyObject* c) { cells_.push_back({part(c, 0), part(c, 1)}); });
        each(part(watched, 3), [&](PyObject* c) { containers_.emplace_back(part(c, 0), part(c, 1)); });
        each(part(watched, 4), [&](PyObject* g) { gets_.push_back({part(g, 0), Lookup(part(g, 1)), part(g, 2)}); });
    }

    void clear() {
        modules_.clear();
        slots_.clear();
        cells_.clear();
        containers_.clear();
        gets_.clear();
        watched_ = Ref();
    }

    // Whether everything is unchanged; true if the module no longer exists. Throws nothing and leaves no exception set.
    bool holds(const TensorReader& reader) const {
        if (modules_.empty() || PyWeakref_GetObject(modules_[0].reference) == Py_None) return true;
        const bool same = compare(reader);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return same;
    }

   private:
    struct Entry {
        Lookup key;
        PyObject* value;
    };
    struct Slot {
        PyObject* owner;
        Lookup key;
        PyObject* value;
    };
    struct Cell {
        PyObject *cell, *value;
    };
    struct Module {
        PyObject* reference;
        PyTypeObject* type;
        unsigned int type_version;
        std::vector<Entry> attributes, children;
        Lookup hooks[2], submodules;
        std::vector<WatchedTensor> tensors;
        bool sized;
    };

    bool compare(const TensorReader& reader) const {
        for (const Module& m : modules_)
            if (!same_module(m, reader)) return false;
        for (const Slot& s : slots_)
            if (s.key.in(s.owner) != s.value) return false;
        for (const Cell& c : cells_)
            if (PyCell_GET(c.cell) != c.value) return false;
        for (const WatchedContainer& c : containers_)
            if (!c.holds()) return false;
        for (const Slot& g : gets_) {
            PyObject* owner = PyWeakref_CheckRef(g.owner) ? PyWeakref_GetObject(g.owner) : g.owner;
            Ref value(PyObject_GetAttr(owner, g.key.key()));
            if (!value) return false;
            if (value.get() != g.value && PyObject_RichCompareBool(value.get(), g.value, Py_EQ) != 1) return false;
        }
        return true;
    }

    // Borrowed references stay valid here, because nothing in this function runs Python code.
    bool same_module(const Module& m, const TensorReader& reader) const {
        PyObject* module = PyWeakref_GetObject(m.reference);
        if (module == Py_None || Py_TYPE(module) != m.type || m.type->tp_version_tag != m.type_version || !m.type_version) return false;
        Ref dict(PyObject_GenericGetDict(module, nullptr));
        if (!dict) return false;
        for (const Entry& a : m.attributes) {
            PyObject* value = a.key.in(dict.get());
            // Methods are referenced weakly, because they hold references to their module.
            PyObject* stored = PyWeakref_CheckRef(a.value) ? PyWeakref_GetObject(a.value) : a.value;
            if (value != (a.value == missing_ ? nullptr : stored)) return false;
        }
        for (const Lookup& hooks : m.hooks) {
            PyObject* present = hooks.in(dict.get());
            if (!present || !PyDict_Check(present) || PyDict_GET_SIZE(present) != 0) return false;
        }
        if (!m.children.empty() || m.sized) {
            PyObject* children = m.submodules.in(dict.get());
            if (!children || !PyDict_Check(children)) return false;
            if (m.sized && size_t(PyDict_GET_SIZE(children)) != m.children.size()) return false;
            for (const Entry& c : m.children)
                if (c.key.in(children) != PyWeakref_GetObject(c.value)) return false;
        }
        for (const WatchedTensor& t : m.tensors)
            if (!t.holds(reader, dict.get())) return false;
        return true;
    }

    static PyObject* name(const char* text) { return PyUnicode_InternFromString(text); }

    Ref watched_;
    PyObject* missing_ = nullptr;
    std::vector<Module> modules_;
    std::vector<Slot> slots_, gets_;
    std::vector<Cell> cells_;
    std::vector<WatchedContainer> containers_;
    Ref names_[4] = {Ref(name("forward")), Ref(name("_forward_hooks")), Ref(name("_forward_pre_hooks")), Ref(name("_modules"))};
    PyObject *const forward_ = names_[0].get(), *const hooks_ = names_[1].get(), *const pre_hooks_ = names_[2].get(),
                    *const children_ = names_[3].get();
};

}  // namespace acrobat
