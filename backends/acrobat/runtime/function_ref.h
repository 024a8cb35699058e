// A reference to a callable object, for parameters of functions that are no templates. It owns nothing: the object must outlive
// the call to which the reference is passed.
#pragma once

#include <type_traits>
#include <utility>

namespace acrobat {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
   public:
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
    FunctionRef(F&& function)
        : object_(const_cast<void*>(static_cast<const void*>(&function))), call_([](void* object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

   private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace acrobat
