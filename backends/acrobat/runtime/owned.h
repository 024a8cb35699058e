// Owns one object, as std::unique_ptr does, whose header <memory> is longer than all others that models include together.
#pragma once

#include <utility>

namespace acrobat {

template <class T>
class Owned {
   public:
    explicit Owned(T* object = nullptr) : object_(object) {}
    Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned() { delete object_; }

    T* get() const { return object_; }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    T* object_;
};

}  // namespace acrobat
