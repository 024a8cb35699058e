// What generated readers use to read instances directly from Python objects. It does without Python's headers, which are long
// and which models would have to compile.
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

// An instance does not fit. Each reader that this error passes through adds its part to `path`, which says where.
struct ReadError {
    std::string path;
    std::string message;
    Ref cause{};        // the Python exception behind it, if there is one
    bool type = false;  // whether the type or shape is the problem, so that a larger sample could have helped

    void within(const std::string& part);
    void within_item(int64_t index);
};

// Finds objects that contain themselves while nested objects are read. Each object is compared with one of those around it, the
// one at the last power of two of the depth (Brent's algorithm), which finds a cycle after few turns. Otherwise reading would
// go round until the stack ends, and could fill the memory before that.
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

// A class of the model with the places of its fields; or a kind of dictionary with fixed keys, which is a class to the program.
struct Class {
    PyTypeObject* type = nullptr;
    bool exact = false;  // whether Python's own class has the fields itself, as `date` has: a derived one has others beside them
    bool of_times = false;  // whether it is `datetime`, whose objects may have a time zone
    int rank = -1;  // of the tensors that are meant, where those of several ranks stand in one place
    struct Field {
        PyObject* name;
        ptrdiff_t offset;  // of the slot; -1: an ordinary attribute
    };
    std::vector<Field> fields;
    Ref keys;   // of a dictionary: all its keys, also those that the program does not read, in the order that results have
    std::vector<size_t> by_key;  // of a dictionary: the fields in the order of their keys
    Ref names;  // of the fields, for a call with keywords
    // How an object is made: by filling its slots, by a call of the class, by setting attributes, or as a dictionary.
    enum class Construction { by_slots, by_call, by_attributes, as_dict } construction = Construction::by_call;

    Class() = default;
    Class(Class&& other) noexcept
        : type(std::exchange(other.type, nullptr)), exact(other.exact), of_times(other.of_times), rank(other.rank), fields(std::move(other.fields)), keys(std::move(other.keys)),
          by_key(std::move(other.by_key)), names(std::move(other.names)), construction(other.construction) {}
    ~Class();

    // `field_names` ends with null. `keys_of_dict` is None or, where dictionaries are meant, the tuple of all their keys, and
    // where tensors of one rank are meant, this rank. With `plain`, objects are made without a constructor: their attributes are
    // set as Python's `object.__setattr__` does. Throws PythonError.
    void set(PyObject* cls, const char* const* field_names, PyObject* keys_of_dict, bool plain);

    // Whether the object is of just this class, or a dictionary with these keys.
    bool is(PyObject* o) const;

    // Whether an object of the class, or of one derived from it, is a tensor of the rank that is meant, if one is.
    bool has_rank(PyObject* o) const;
    // Whether an object of the class is no time with a time zone, which is an error.
    bool has_no_zone(PyObject* o) const;

    // A new object with these field values, whose references it takes over. Throws PythonError.
    PyObject* make(Ref* values) const;

    // The value of field i, borrowed: the instance owns it or, if a property has just made it, `kept`.
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

[[noreturn]] void mismatch(PyObject* o, const std::string& expected, int64_t elements = -1);

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
Elements read_varying_tuple(PyObject* o);  // of a tuple alone
PyObject* const* read_tuple(PyObject* o, int64_t elements);

// Address of a float32 tensor of exactly this shape that the device reads; see `TensorReader::read`.
Tensor read_tensor(Session& s, PyObject* o, const int64_t* shape, int ndim);

// Which of the `count` classes from `first` on in `Session::classes` an object has, counted from 0. If none matches exactly, a
// subclass counts as the dataclass that it extends. Throws ReadError, whose message names `expected`.
int case_of(const Session& s, PyObject* o, int first, int count, const char* expected);

// The value that an object of this instance was read as before, for types whose objects the program tells apart by `id`; null
// if it was not read before. `remember` notes it. `type` is a number for the type of the program.
void* known(const Session& s, PyObject* o, int type);
void remember(Session& s, PyObject* o, int type, void* value);

// The elements of a set, in Python's order, kept until the run ends; how a path names one.
Elements read_set(Session& s, PyObject* o);
std::string place_in_set(PyObject* element);

// The (key, value) pairs of a dictionary, kept until the run ends; the key and value of a pair; how a path names a pair.
// `missing` names the class or function that has to make the dictionary's values for missing keys (`default_dicts.read_as`).
Elements read_dict(Session& s, PyObject* o, const std::string& missing);
PyObject* key_of(PyObject* pair);
PyObject* value_of(PyObject* pair);
std::string place_of(PyObject* pair);

// The number that stands for a string or a member of an Enum in this mini-batch.
int64_t read_symbol(Session& s, PyObject* o);
// A new number for an object of the instance: the program compares these numbers where the source compares `id`s.
int64_t next_object(Session& s, PyObject* o);

// ---- results: all tensors of one type are gathered into one buffer, which Python allocates and splits.

// A type of result tensors. Where extents vary, a tensor comes as the list of its parts.
struct ResultType {
    int64_t elements;  // 4-byte elements of one tensor, or of one part
    int32_t lists;     // how many extents vary
    char number;       // 'i', 'b' or 'f' where parts are numbers of the host
    bool arranged;     // whether `PythonSide::arrange` must bring the parts into the order of the tensor's dimensions
};

struct Outgoing : ResultType {
    Outgoing(const ResultType& type, size_t number) : ResultType(type), index(number) {}

    size_t index;  // the number of the type

    std::vector<Tensor> tensors;      // where extents vary, the parts of all tensors
    std::vector<int64_t> numbers;     // in place of `tensors` where parts are numbers of the host: their bits
    std::vector<int64_t> sizes;       // the extents that vary, tensor after tensor
    std::vector<int64_t> lengths;     // the number of parts of each tensor whose extents vary
    std::vector<PyObject*> objects;   // PyTorch's tensors, borrowed from `holder`
    Ref holder;
    size_t next = 0;

    // Begins a tensor whose extents vary and returns where these are in `sizes`. Its parts are noted before `end_varying`.
    size_t begin_varying() {
        const size_t at = sizes.size();
        sizes.resize(at + size_t(lists), -1);
        return at;
    }
    void end_varying(size_t at) {
        int64_t parts = 1;
        for (size_t i = at; i < sizes.size(); ++i) {
            if (sizes[i] < 0) sizes[i] = 0;  // never set, because the list around it is empty
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
