// A reference to a callable: two words, no allocation. It must not outlive the callable.
#pragma once

#include <utility>

namespace tempi {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Fn>
  FunctionRef(const Fn& fn)  // stands for the callable
      : callable_(&fn), call_([](const void* callable, Arguments... arguments) -> Result {
          return (*static_cast<const Fn*>(callable))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(callable_, std::forward<Arguments>(arguments)...); }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace tempi
