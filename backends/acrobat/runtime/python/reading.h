// Instances are read straight from Python objects. This is what generated readers use; it needs none of Python's headers, which are
// long, so models do without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../context.h"

// As Python's headers declare them.
struct _object;
struct _typeobject;
using PyObject = _object;
using PyTypeObject = _typeobject;

namespace acrobat {

struct Session;

void take_reference(PyObject* o);
void drop_reference(PyObject* o);

// Owns one reference.
class Ref {
   public:
    explicit Ref(PyObject* o = nullptr) : object_(o) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_) drop_reference(object_);
    }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    PyObject* object_;
};

// What does not fit, and where: the path is put together while the error passes through the readers.
struct ReadError {
    std::string path;
    std::string message;
    Ref cause{};        // the Python exception behind it, if there is one
    bool type = false;  // whether it is a value of another type or shape: one that a sample could have shown

    void within(const std::string& part);
    void within_item(int64_t index);
};

// The objects that are being read, one within the other. An object is compared with those around it (Brent's algorithm: of these only
// the one at the last power of two of the depth), which finds what contains itself within a few turns. Otherwise the turns would
// go on until the stack ends, and each may read as much as the memory holds.
class Path {
   public:
    void begin() {
        const char here = 0;
        near_ = reinterpret_cast<uintptr_t>(&here) - kNear;
        depth_ = 0;
    }

    class Level {
       public:
        Level(Path& path, const Context& cx, PyObject* o) : path_(path) {
            const char here = 0;
            deep_ = reinterpret_cast<uintptr_t>(&here) < path.near_;
            if (deep_) [[unlikely]]
                path.enter(cx, o);
        }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        ~Level() {
            if (deep_) [[unlikely]]
                --path_.depth_;
        }

       private:
        Path& path_;
        bool deep_;
    };

   private:
    static constexpr uintptr_t kNear = 8 << 10;  // bytes of stack: objects nested less deeply are not compared

    void enter(const Context& cx, PyObject* o);

    uintptr_t near_ = 0;
    int64_t depth_ = 0;
    PyObject* mark_[64] = {};
};

// A class of the model and where its fields lie; or the names that a dictionary has as keys, which is a class to the program.
struct Class {
    PyTypeObject* type = nullptr;
    struct Field {
        PyObject* name;
        ptrdiff_t offset;  // of the slot; -1: an ordinary attribute
    };
    std::vector<Field> fields;
    Ref keys;   // of a dictionary: all that it has, those that the program does not read too
    Ref names;  // of the fields, for a call with keywords
    enum class Made { by_slots, by_call, by_attributes, as_dict } made = Made::by_call;

    Class() = default;
    Class(Class&& other) noexcept
        : type(std::exchange(other.type, nullptr)), fields(std::move(other.fields)), keys(std::move(other.keys)),
          names(std::move(other.names)), made(other.made) {}
    ~Class();

    // `field_names` ends with null. `keys_of_dict` is None, or the tuple of the keys of the dictionaries that are meant; `plain` says
    // that objects are made by giving them attributes, as Python's `object.__setattr__` does, without a constructor. Throws
    // PythonError.
    void set(PyObject* cls, const char* const* field_names, PyObject* keys_of_dict, bool plain);

    // Whether the object is of just this class, or a dictionary with these keys.
    bool is(PyObject* o) const;

    // A new object with these field values, whose references it takes over. Throws PythonError.
    PyObject* make(Ref* values) const;

    // Borrowed: the instance holds it, or `kept` if a property has made it.
    PyObject* field(PyObject* o, size_t i, std::vector<Ref>& kept) const {
        const Field& f = fields[i];
        if (f.offset >= 0) {
            PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + f.offset);
            if (value) return value;
        }
        return attribute(o, f, kept);
    }

   private:
    PyObject* attribute(PyObject* o, const Field& f, std::vector<Ref>& kept) const;
};

[[noreturn]] void mismatch(PyObject* o, const std::string& wanted, int64_t elements = -1);

int64_t read_int(PyObject* o);
bool read_bool(PyObject* o);
double read_float(PyObject* o);
bool is_none(PyObject* o);

// The elements of a list or tuple, borrowed.
struct Elements {
    PyObject* const* data;
    int64_t size;
};
Elements read_list(PyObject* o);
PyObject* const* read_tuple(PyObject* o, int64_t elements);

// Address of a float32 tensor of exactly this shape that the device reads; see `TensorReader::read`.
Tensor read_tensor(Session& s, PyObject* o, const int64_t* shape, int ndim);

// Which of `count` classes, whose indices in `Session::classes` begin at `first`, an object has. A subclass counts as the dataclass
// it extends, after all exact matches failed. `wanted` is what to say is expected where it has none.
int case_of(const Session& s, PyObject* o, int first, int count, const char* wanted);

// What an object of this instance was read as before, of types whose objects the program tells apart; null if it was not. `type`
// tells one type of the program from another.
void* known(const Session& s, PyObject* o, int type);
void remember(Session& s, PyObject* o, int type, void* value);

// The pairs of a dictionary, which are kept until the run ends; `key` and `value` of one; what a path says of one.
Elements read_dict(Session& s, PyObject* o);
PyObject* key_of(PyObject* pair);
PyObject* value_of(PyObject* pair);
std::string place_of(PyObject* pair);

// The number that stands for a string or a member of an Enum in this mini-batch.
int64_t read_symbol(Session& s, PyObject* o);
// The number of an object of the instance that the program tells from others by `id`.
int64_t next_object(Session& s);

// ---- results: all tensors of one type are gathered into one buffer, which Python allocates and splits.

// A type of result tensors. Where extents vary, a tensor comes as the list of its parts.
struct ResultType {
    int64_t elements;  // 4-byte elements of one tensor, or of one part
    int32_t lists;     // how many extents vary
    char number;       // 'i', 'b' or 'f' where parts are numbers of the host
    bool arranged;     // whether `PythonSide::arrange` brings the parts into the order of the tensor's dimensions
};

struct Outgoing : ResultType {
    Outgoing(const ResultType& type, size_t number) : ResultType(type), index(number) {}

    size_t index;  // of the type

    std::vector<Tensor> tensors;      // or all their parts
    std::vector<int64_t> numbers;     // in place of parts, by their bits
    std::vector<int64_t> sizes;       // of each tensor whose extents vary: these extents
    std::vector<int64_t> lengths;     // and how many parts it has
    std::vector<PyObject*> objects;   // borrowed from `holder`
    Ref holder;
    size_t next = 0;

    // Where the extents of the next tensor stand in `sizes`: its parts come between the two calls.
    size_t begin_varying() {
        const size_t at = sizes.size();
        sizes.resize(at + size_t(lists), -1);
        return at;
    }
    void end_varying(size_t at) {
        int64_t parts = 1;
        for (size_t i = at; i < sizes.size(); ++i) {
            if (sizes[i] < 0) sizes[i] = 0;  // in a list that is empty
            parts *= sizes[i];
        }
        lengths.push_back(parts);
    }

    // A new reference to the next of the tensors.
    PyObject* take() {
        PyObject* o = objects[next++];
        take_reference(o);
        return o;
    }
};

// A new reference to the next of the tensors whose extents vary.
PyObject* take_varying(Session& s, Outgoing& out);

}  // namespace acrobat
