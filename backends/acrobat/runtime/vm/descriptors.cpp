#include "descriptors.h"

#include "../python/building.h"

namespace acrobat::vm {

// ---- from Python

namespace {

Slot read_items(Session& s, const Types& t, const Type& type, PyObject* o) {
    const bool is_set = type.kind == Kind::Set;
    const auto [objects, size] = is_set ? read_set(s, o) : type.kind == Kind::VaryingTuple ? read_varying_tuple(o) : read_list(o);
    const Items list = make_list<Slot>(s.cx.host, size);
    int64_t i = 0;
    try {
        for (; i < size; ++i) list.data[i] = read(s, t, type.first, objects[i]);
    } catch (ReadError& e) {
        is_set ? e.within(place_in_set(objects[i])) : e.within_item(i);
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
    if (type.index) remember(s, o, t.cases[type.first].cls, value);  // before the fields are read, which may lead back to it
    int32_t i = 0;
    size_t field = 0;
    try {
        for (; i < c.count; ++i) {
            const int32_t part = t.parts[c.first + i].type;
            const bool own = t.types[part].kind != Kind::Identity;
            value[1 + i] = own ? read(s, t, part, cls.field(o, field++, s.kept)) : Slot(next_object(s, o));
        }
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
    return read_case(s, t, type, case_of(s, o, first, type.count, type.expected), o);
}

Slot read_mixed(Session& s, const Types& t, const Type& type, PyObject* o) {
    const int number = case_of(s, o, t.cases[type.first].cls, type.count, type.expected);
    const int32_t inner = t.parts[t.cases[type.first + number].first].type;
    Slot* value = s.cx.host.make<Slot>(2);
    value[0] = number;
    if (t.types[inner].kind == Kind::Union) {  // notes itself that it reads this object
        value[1] = read(s, t, inner, o);
    } else {
        const Path::Level level(s.path, s.cx, o);
        value[1] = read(s, t, inner, o);
    }
    return slot(value);
}

Slot read_pairs(Session& s, const Types& t, const Type& type, PyObject* o) {
    const auto [pairs, size] = read_dict(s, o, type.expected);
    const Items list = make_list<Slot>(s.cx.host, size);
    int64_t i = 0;
    try {
        for (; i < size; ++i) {
            Slot* pair = s.cx.host.make<Slot>(2);
            pair[0] = read(s, t, t.parts[type.first].type, key_of(pairs[i]));
            pair[1] = read(s, t, t.parts[type.first + 1].type, value_of(pairs[i]));
            list.data[i] = slot(pair);
        }
    } catch (ReadError& e) {
        e.within(place_of(pairs[i]));
        throw;
    }
    return boxed(s.cx.host, list);
}

Slot part_of(const Rows&, Tensor at, Kind) { return at; }
Slot part_of(const Numbers& n, const char* at, Kind kind) {
    return kind == Kind::Floats ? slot(float_at(n, at)) : kind == Kind::Bools ? int_at(n, at) != 0 : int_at(n, at);
}

// The part at `at` of a tensor whose extents vary, as lists from `level` on.
template <class Source, class At>
Slot varying_from(Session& s, const Source& from, const Type& type, int32_t level, At at) {
    if (level == type.count) return part_of(from, at, type.kind);
    const Items list = make_list<Slot>(s.cx.host, from.sizes[level]);
    for (int64_t i = 0; i < list.size; ++i) list.data[i] = varying_from(s, from, type, level + 1, at + i * from.strides[level]);
    return boxed(s.cx.host, list);
}
template <class Source>
Slot varying(Session& s, const Source& from, const Type& type) {
    return varying_from(s, from, type, 0, from.at);
}

// Where the number of an object is among the fields of a case; their count if it has none.
int32_t number_in(const Types& t, const Case& c) {
    int32_t i = 0;
    while (i < c.count && t.types[t.parts[c.first + i].type].kind != Kind::Identity) ++i;
    return i;
}

// Notes the parts of a tensor whose extents vary.
void note(Outgoing& out, const Type& type, int32_t level, size_t at, Slot v) {
    if (level == type.count) {
        (type.kind == Kind::Rows ? out.tensors : out.numbers).push_back(v);
        return;
    }
    note_extent(out, at, items(v).size);
    for (const Slot item : items(v)) note(out, type, level + 1, at + 1, item);
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
        case Kind::Mixed: return read_mixed(s, t, type, o);
        case Kind::Symbol: return read_symbol(s, o);
        case Kind::Rows: return varying(s, read_rows(s, o, t.varying[type.first]), type);
        case Kind::Ints: return varying(s, read_numbers(s, o, t.varying[type.first], 'i'), type);
        case Kind::Bools: return varying(s, read_numbers(s, o, t.varying[type.first], 'b'), type);
        case Kind::Floats: return varying(s, read_numbers(s, o, t.varying[type.first], 'f'), type);
        case Kind::Dict: return read_pairs(s, t, type, o);
        case Kind::Set:
        case Kind::VaryingTuple: return read_items(s, t, type, o);
        case Kind::Nothing: return 0;
        case Kind::Identity: break;  // `read_case` numbers objects itself
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
        case Kind::Set:
        case Kind::VaryingTuple:
            for (const Slot item : items(v)) collect(s, out, t, type.first, item);
            break;
        case Kind::Dict:
            for (const Slot pair : items(v))
                for (int32_t i = 0; i < 2; ++i) collect(s, out, t, t.parts[type.first + i].type, slots(pair)[i]);
            break;
        case Kind::Rows:
        case Kind::Ints:
        case Kind::Bools:
        case Kind::Floats: {
            Outgoing& to = out[size_t(type.index)];
            const size_t at = to.begin_varying();
            note(to, type, 0, at, v);
            to.end_varying(at);
            break;
        }
        case Kind::Tuple:
            for (int32_t i = 0; i < type.count; ++i) collect(s, out, t, t.parts[type.first + i].type, slots(v)[i]);
            break;
        case Kind::Optional:
            if (slots(v)[0] == type.index) collect(s, out, t, type.first, slots(v)[1]);
            break;
        case Kind::Mixed:
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            if (number_in(t, c) < c.count) break;  // the instance's own object
            for (int32_t i = 0; i < c.count; ++i) collect(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]);
            break;
        }
        default: break;
    }
}

// Builds the Python object of a value, a new reference. Throws PythonError.
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
        case Kind::VaryingTuple: {
            const Items& from = items(v);
            Ref tuple(new_tuple(from.size));
            for (int64_t i = 0; i < from.size; ++i) put_in_tuple(tuple.get(), i, build(s, out, t, type.first, from.data[i]));
            return tuple.release();
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
        case Kind::Mixed:
            s.cx.guard("the result");
            return build(s, out, t, t.parts[t.cases[type.first + slots(v)[0]].first].type, slots(v)[1]);
        case Kind::Union: {
            s.cx.guard("the result");
            const Case& c = t.cases[type.first + slots(v)[0]];
            if (const int32_t i = number_in(t, c); i < c.count) return build_object(s, slots(v)[1 + i]);
            std::vector<Ref> values;
            values.reserve(size_t(c.count));
            for (int32_t i = 0; i < c.count; ++i) values.emplace_back(build(s, out, t, t.parts[c.first + i].type, slots(v)[1 + i]));
            return s.classes[size_t(c.cls)].make(values.data());
        }
        case Kind::Symbol: return build_symbol(s, v);
        case Kind::Nothing: return build_none();
        case Kind::Rows:
        case Kind::Ints:
        case Kind::Bools:
        case Kind::Floats: return take_varying(s, out[size_t(type.index)]);
        case Kind::Dict: {
            Ref dict(new_dict());
            for (const Slot pair : items(v)) {
                Ref key(build(s, out, t, t.parts[type.first].type, slots(pair)[0]));
                put_in_dict(dict.get(), key.release(), build(s, out, t, t.parts[type.first + 1].type, slots(pair)[1]));
            }
            return dict.release();
        }
        case Kind::Set: {
            Ref set(new_set());
            for (const Slot item : items(v)) put_in_set(set.get(), build(s, out, t, type.first, item));
            return set.release();
        }
        case Kind::Identity: break;
    }
    __builtin_unreachable();
}

}  // namespace acrobat::vm
