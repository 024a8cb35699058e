// The functions that Python calls. The generated code defines `set_up` and `run_loops`.
#pragma once

#include "session.h"

namespace cortex {

enum class Kind { tree, chain, grid };

void set_up(Session& s);
void run_loops(Session& s);
extern const Kind kind;
extern const bool per_element;  // whether there is an output at every element instead of at the roots of trees

template <class Body>
int64_t guarded(Body&& body) {
    try {
        return body();
    } catch (const PythonError&) {
    } catch (const BadInstance& e) {
        PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return -1;
}

inline int64_t read(Session& s, PyObject* instances) {
    const auto began = Clock::now();
    s.counters = {};
    s.elements.clear();
    const struct Reset {
        Reader& reader;
        explicit Reset(Reader& r) : reader(r) { reader.reset(); }
        ~Reset() { reader.reset(); }
    } reset(s.reader);
    const Py_ssize_t count = PyList_GET_SIZE(instances);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* o = PyList_GET_ITEM(instances, i);
        try {
            switch (kind) {
                case Kind::tree: s.reader.tree(s.elements, o); break;
                case Kind::chain: s.reader.chain(s.elements, o); break;
                case Kind::grid: s.reader.grid(s.elements, o); break;
            }
        } catch (const BadInstance& e) {
            throw BadInstance("instance " + std::to_string(i) + ": " + e.what());
        }
    }
    s.outputs = per_element ? s.elements.size() : int64_t(count);
    s.counters.ingest_ms = milliseconds(Clock::now() - began);
    return s.outputs;
}

inline int64_t run(Session& s, float* out) {
    struct Awake {
        acrobat::Pool& pool;
        explicit Awake(acrobat::Pool& p) : pool(p) { pool.begin(); }
        ~Awake() { pool.end(); }
    } awake(s.pool);
    auto began = Clock::now();
    s.out = out;
    s.pack();
    const double packing = milliseconds(Clock::now() - began);
    began = Clock::now();
    const Elements& e = s.elements;
    for (size_t r = 0; r < s.recursions.size(); ++r) {
        const float* states = s.states[r]->room(e.size() * s.recursions[r].row);
        s.linear[r].build(s.recursions[r], e, s.at(states), s.outside[r] ? s.at(s.outside[r]) : 0, s.base);
        s.hoisted[r]->room(s.linear[r].inner * s.hoisted_row[r]);
    }
    const size_t roots = std::max(s.reader.roots.size(), size_t{1});
    for (size_t t = 0; t < s.own.size(); ++t) {
        const auto [r, at, root] = s.own_at[t];
        const int64_t states = s.at(s.states[r]->room(0));
        s.own[t].resize(size_t(s.outputs));
        for (int64_t i = 0; i < s.outputs; ++i) {
            const size_t element = size_t(per_element ? i : e.root[size_t(i) * roots + root]);
            s.own[t][size_t(i)] = states + s.linear[r].number[element] * s.recursions[r].row + at;
        }
    }
    for (Worker& w : s.workers) w.most = 0;
    s.sparse_elements = 0;
    s.counters.schedule_ms = milliseconds(Clock::now() - began);
    began = Clock::now();
    run_loops(s);
    s.counters.kernel_ms = std::max(0.0, milliseconds(Clock::now() - began) - s.counters.copy_ms);
    s.counters.copy_ms += packing;
    s.counters.intermediate_bytes = 4.0 * double(s.sparse_elements);
    for (const Worker& w : s.workers) s.counters.intermediate_bytes += 4.0 * double(w.most);
    return 0;
}

// The results of all elements, which `flat` has in order, as lists that are nested like the instances.
inline PyObject* nested(const Session& s, PyObject* flat) {
    const auto take = [&](Py_ssize_t& next, Py_ssize_t count) {
        PyObject* list = PyList_New(count);
        for (Py_ssize_t i = 0; list && i < count; ++i) {
            PyObject* o = PyTuple_GET_ITEM(flat, next++);
            Py_INCREF(o);
            PyList_SET_ITEM(list, i, o);
        }
        return list;
    };
    Py_ssize_t next = 0;
    const std::vector<int32_t>& extent = s.elements.extent;
    const size_t dimensions = kind == Kind::grid ? 2 : 1;
    PyObject* all = PyList_New(Py_ssize_t(extent.size() / dimensions));
    for (size_t i = 0; all && i < extent.size(); i += dimensions) {
        PyObject* one;
        if (dimensions == 1) {
            one = take(next, extent[i]);
        } else {
            one = PyList_New(extent[i]);
            for (Py_ssize_t y = 0; one && y < extent[i]; ++y) {
                PyObject* row = take(next, extent[i + 1]);
                if (!row) {
                    Py_CLEAR(one);
                    break;
                }
                PyList_SET_ITEM(one, y, row);
            }
        }
        if (!one) {
            Py_DECREF(all);
            return nullptr;
        }
        PyList_SET_ITEM(all, Py_ssize_t(i / dimensions), one);
    }
    return all;
}

}  // namespace cortex

#define CORTEX_EXPORT extern "C" __attribute__((visibility("default")))

CORTEX_EXPORT void* cortex_create(int threads) {
    cortex::Session* s = nullptr;
    cortex::guarded([&] { return s = new cortex::Session(threads), int64_t{0}; });
    return s;
}
CORTEX_EXPORT void cortex_destroy(void* s) { delete static_cast<cortex::Session*>(s); }
CORTEX_EXPORT void cortex_set_tree(void* session, PyObject* leaf, PyObject* node, const char* word, const char* node_word) {
    cortex::Reader& reader = static_cast<cortex::Session*>(session)->reader;
    reader.leaf = reinterpret_cast<PyTypeObject*>(leaf);  // held by the caller
    reader.node = reinterpret_cast<PyTypeObject*>(node);
    reader.leaf_word.set(leaf, word);
    if (*node_word) reader.node_word.set(node, node_word);
}
CORTEX_EXPORT void cortex_add_children(void* session, const char* field) {
    cortex::Reader& reader = static_cast<cortex::Session*>(session)->reader;
    reader.children.emplace_back().set(reinterpret_cast<PyObject*>(reader.node), field);
}
CORTEX_EXPORT void cortex_add_root(void* session, PyObject* instance, const char* field) {
    cortex::Reader& reader = static_cast<cortex::Session*>(session)->reader;
    reader.instance = reinterpret_cast<PyTypeObject*>(instance);  // held by the caller
    reader.roots.emplace_back().set(instance, field);
}
CORTEX_EXPORT void cortex_add_table(void* session, const float* rows, int64_t count, int64_t width) {
    auto& s = *static_cast<cortex::Session*>(session);
    s.tables.push_back(rows);
    s.widths.push_back(width);
    s.rows.push_back(count);
}
CORTEX_EXPORT void cortex_set_words(void* s, int64_t of_leaves, int64_t of_inner) {
    cortex::Reader& reader = static_cast<cortex::Session*>(s)->reader;
    reader.leaf_words = of_leaves;
    reader.inner_words = of_inner;
}
CORTEX_EXPORT void cortex_add_weight(void* s, const float* packed) { static_cast<cortex::Session*>(s)->weights.push_back(packed); }
CORTEX_EXPORT void cortex_add_packing(void* s, const float* from, float* to, int64_t rows, int64_t columns, int64_t gates, int64_t lanes,
                                    int64_t panels) {
    static_cast<cortex::Session*>(s)->packed.push_back({from, to, rows, columns, gates, lanes, panels});
}
CORTEX_EXPORT void cortex_add_outside(void* s, const float* row) { static_cast<cortex::Session*>(s)->outside.push_back(row); }
CORTEX_EXPORT void cortex_set_up(void* session, float* zeros) {
    auto& s = *static_cast<cortex::Session*>(session);
    s.zeros = zeros;
    cortex::set_up(s);
}
CORTEX_EXPORT int64_t cortex_read(void* s, PyObject* instances) {
    return cortex::guarded([&] { return cortex::read(*static_cast<cortex::Session*>(s), instances); });
}
CORTEX_EXPORT int64_t cortex_run(void* s, float* out) {
    return cortex::guarded([&] { return cortex::run(*static_cast<cortex::Session*>(s), out); });
}
CORTEX_EXPORT PyObject* cortex_nested(void* s, PyObject* flat) { return cortex::nested(*static_cast<cortex::Session*>(s), flat); }
CORTEX_EXPORT const double* cortex_counters(void* s) {
    return reinterpret_cast<const double*>(&static_cast<cortex::Session*>(s)->counters);
}
