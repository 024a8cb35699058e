#include "descriptors.h"

#include "../python/building.h"

namespace acrobat::vm {

// ---- from Python

namespace {

Slot read_items(Session& s, const Types& t, const Type& type, PyObject* o) {
    const auto [objects, size] = read_list(o);
    const Items list = make_list<Slot>(s.cx.host, size);
    int64_t i = 0;
    try {
        for (; i < size; ++i) list.data[i] = read(s, t, type.first, objects[i]);
    } catch (ReadError& e) {
        e.within_item(i);
        throw;
    }
    return boxed(s.cx.host, list);
}

Slot read_parts(Session& s, const Types& t, const Type& type, PyObject* o) {
    PyObject* const* elements = acrobat::read_tuple(o, type.count);
    Slot* tuple = s.cx.host.make<Slot>(size_t(type.count));
    int32_t i = 0;
    try {
        for (; i < type.count; ++i) tuple[i] = read(s, t, t.parts[type.first + i].type, elements[i]);
    } catch (ReadError& e) {
        e.within_item(i);
        throw;
    }
    return slot(tuple);
}

Slot read_optional(Session& s, const Types& t, const Type& type, PyObject* o) {
    Slot* value = s.cx.host.make<Slot>(2);
    value[0] = is_none(o) ? 1 - type.index : type.index;
    if (!is_none(o)) value[1] = read(s, t, type.first, o);
    return slot(value);
}

Slot read_case(Session& s, const Types& t, const Type& type, int32_t number, PyObject* o) {
    const Case& c = t.cases[type.first + number];
    const Class& cls = s.classes[size_t(c.cls)];
    Slot* value = s.cx.host.make<Slot>(size_t(1 + c.count));
    value[0] = number;
    int32_t i = 0;
    try {
        for (; i < c.count; ++i) value[1 + i] = read(s, t, t.parts[c.first + i].type, cls.field(o, size_t(i), s.kept));
    } catch (ReadError& e) {
        e.within(t.parts[c.first + i].path);
        throw;
    }
    return slot(value);
}

Slot read_union(Session& s, const Types& t, const Type& type, PyObject* o) {
    const int first = t.cases[type.first].cls;
    if (type.index)
        if (void* const before = known(s, o, first)) return slot(static_cast<Slot*>(before));
    const Path::Level level(s.path, s.cx, o);
    const Slot value = read_case(s, t, type, case_of(s, o, first, type.count, type.wanted), o);
    if (type.index) remember(s, o, first, slots(value));
    return value;
}

}  // namespace

Slot read(Session& s, const Types& t, int32_t number, PyObject* o) {
    const Type& type = t.types[number];
    switch (type.kind) {
        case Kind::Int: return read_int(o);
        case Kind::Bool: return read_bool(o);
        case Kind::Float: return slot(read_float(o));
        case Kind::Tensor: return read_tensor(s, o, t.extents + type.first, type.count);
        case Kind::List: return read_items(s, t, type, o);
        case Kind::Tuple: return read_parts(s, t, type, o);
        case Kind::Optional: return read_optional(s, t, type, o);
        case Kind::Union: return read_union(s, t, type, o);
    }
    __builtin_unreachable();
}

// ---- to Python

// Notes the tensors of a value, in the order `build` takes them.
void collect(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t number, Slot v) {
    const Type& type = t.types[number];
    if (!type.tensors) return;
    switch (type.kind) {
        case Kind::Tensor: out[size_t(type.index)].tensors.push_back(v); break;
        case Kind::List:
            for (const Slot item : items(v)) collect(s, out, t, type.first, item);
            break;
        case Kind::Tuple:
            for (int32_t i = 0; i < type.count; ++i) collect(s, out, t, t.parts[type.first + i].type, slots(v)[i]);
            break;
        case Kind::Optional:
            if (slots(v)[0] == type.index) collect(s, out, t, type.first, slots(v)[1]);
            break;
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            for (int32_t i = 0; i < c.count; ++i) collect(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]);
            break;
        }
        default: break;
    }
}

// A new reference. Throws PythonError.
PyObject* build(Session& s, std::vector<Outgoing>& out, const Types& t, int32_t number, Slot v) {
    const Type& type = t.types[number];
    switch (type.kind) {
        case Kind::Int: return build_int(v);
        case Kind::Bool: return build_bool(v != 0);
        case Kind::Float: return build_float(real(v));
        case Kind::Tensor: return out[size_t(type.index)].take();
        case Kind::List: {
            const Items& from = items(v);
            Ref list(new_list(from.size));
            for (int64_t i = 0; i < from.size; ++i) put_in_list(list.get(), i, build(s, out, t, type.first, from.data[i]));
            return list.release();
        }
        case Kind::Tuple: {
            Ref tuple(new_tuple(type.count));
            for (int32_t i = 0; i < type.count; ++i)
                put_in_tuple(tuple.get(), i, build(s, out, t, t.parts[type.first + i].type, slots(v)[i]));
            return tuple.release();
        }
        case Kind::Optional: {
            s.cx.guard("the result");
            if (slots(v)[0] != type.index) return build_none();
            return build(s, out, t, type.first, slots(v)[1]);
        }
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            std::vector<Ref> values;
            values.reserve(size_t(c.count));
            for (int32_t i = 0; i < c.count; ++i)
                values.emplace_back(build(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]));
            return s.classes[size_t(c.cls)].make(values.data());
        }
    }
    __builtin_unreachable();
}

}  // namespace acrobat::vm
