// The memory of an executable: two arenas, and the addresses of tensors in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena.h"
#include "values.h"

namespace acrobat {

struct Arenas {
    explicit Arenas(size_t limit) : host("structure", limit), tensors("tensor", limit) {}

    Arena host;             // structures, lists, coroutine frames, tables made at launch
    Arena tensors;          // rows of results
    float* base = nullptr;  // the address of a tensor is its offset from here

    Tensor address(const void* p) const { return (reinterpret_cast<intptr_t>(p) - reinterpret_cast<intptr_t>(base)) / 4; }
    float* pointer(Tensor t) const { return reinterpret_cast<float*>(reinterpret_cast<intptr_t>(base) + intptr_t(t) * 4); }
    // Allocates a result of `elements` 4-byte elements and returns its address.
    Tensor place(int64_t elements) { return address(tensors.take(size_t(elements) * 4)); }
};

}  // namespace acrobat
