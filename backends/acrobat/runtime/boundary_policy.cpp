// The part of the C interface that is about policies: the graphs of recorded work, and the table of which unit runs next.
#include <stdexcept>
#include <string>

#include "exported.h"
#include "learning.h"
#include "run.h"

namespace acrobat {

namespace {

// The table of a policy as a Python list of pairs: a state (a tuple of the phase, then units) and the unit that runs in it.
PyObject* table_of(const Policy& policy) {
    Ref list(checked(PyList_New(0)));
    for (const auto& [state, unit] : policy.table) {
        Ref numbers(checked(PyTuple_New(Py_ssize_t(state.size()))));
        for (size_t i = 0; i < state.size(); ++i)
            PyTuple_SET_ITEM(numbers.get(), Py_ssize_t(i), checked(PyLong_FromLong(state[i])));
        Ref entry(checked(Py_BuildValue("(Oi)", numbers.get(), unit)));
        if (PyList_Append(list.get(), entry.get()) < 0) throw PythonError{};
    }
    return list.release();
}

long number_of(PyObject* o) {
    const long value = PyLong_AsLong(o);
    if (value == -1 && PyErr_Occurred()) throw PythonError{};
    return value;
}

// Gives the session the policy with a table as `table_of` returns it. Throws if a state does not contain its unit.
void set_table(Session& s, int encoding, PyObject* table) {
    Policy& policy = *s.policy;
    policy.encoding = static_cast<Encoding>(encoding);
    policy.table.clear();
    Ref entries(checked(PySequence_Fast(table, "the table must be a list")));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(entries.get()); ++i) {
        PyObject *numbers, *unit;
        if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(entries.get(), i), "O!O", &PyTuple_Type, &numbers, &unit)) throw PythonError{};
        State state;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(numbers); ++k) state.push_back(char16_t(number_of(PyTuple_GET_ITEM(numbers, k))));
        const long number = number_of(unit);
        if (state.empty() || units_of(state, policy.encoding).find(char16_t(number)) == std::u16string_view::npos)
            throw std::invalid_argument("a state of this policy's table does not have the unit that is to run in it");
        policy.table[state] = int(number);
    }
}

// What `body` returns; null, with a Python exception set, if it throws.
template <class Body>
PyObject* object_or_null(Body&& body) {
    try {
        return body();
    } catch (const PythonError&) {
        return nullptr;
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
        return nullptr;
    }
}

}  // namespace

}  // namespace acrobat

using namespace acrobat;

ACROBAT_EXPORT void acrobat_keep_graphs(Session* s, int on) {
    s->policy->keeps_graphs = on != 0;
    s->policy->graphs.clear();
}

// The kept graphs as bytes, which are the same for equal graphs: Python finds a learned policy in the cache by them.
ACROBAT_EXPORT PyObject* acrobat_graphs(Session* s) {
    return object_or_null([&] {
        std::string bytes;
        const auto add = [&](const std::vector<int32_t>& numbers) {
            const uint64_t size = numbers.size();
            bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
            bytes.append(reinterpret_cast<const char*>(numbers.data()), size * sizeof(int32_t));
        };
        for (const Graph& g : s->policy->graphs) {
            add({g.stage, g.units});
            add(g.unit);
            add(g.first);
            add(g.users);
        }
        return checked(PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size())));
    });
}

// The sum of the lower bounds of all kept graphs.
ACROBAT_EXPORT int64_t acrobat_lower_bound(Session* s) {
    int64_t bound = 0;
    for (const Graph& g : s->policy->graphs) bound += g.lower_bound();
    return bound;
}

// Learns from the kept graphs: (encoding, table, batches, agenda's batches, lower bound, trials). Keeps the session's policy.
ACROBAT_EXPORT PyObject* acrobat_learn(Session* s, int64_t trials, uint64_t seed) {
    return object_or_null([&] {
        const Learned learned = learn(s->policy->graphs, trials, seed, [] {
            if (PyErr_CheckSignals() != 0) throw PythonError{};
        });
        Ref table(table_of(learned.policy));
        return checked(Py_BuildValue("(iOLLLL)", int(learned.policy.encoding), table.get(), (long long)learned.batches,
                                     (long long)learned.agenda, (long long)learned.lower_bound, (long long)learned.trials));
    });
}

ACROBAT_EXPORT int acrobat_set_policy(Session* s, int encoding, PyObject* table) {
    return guarded([&] { set_table(*s, encoding, table); });
}
