// Defines the exported functions: each function of the table under its names MPI_x and PMPI_x.
#pragma once

#include <atomic>
#include <type_traits>

#include "mpi/inside.hpp"
#include "mpi/real.hpp"
#include "mpi_config.h"

// Entries translate calls into the terms of these folders. (request/, transfer/ and transport/ are tempi::message.)
namespace tempi::message {}
namespace tempi::process {}
namespace tempi::interpose {
using namespace message;
using namespace process;

// Every parameter fits a word, and there are not too many.
template <class Function>
struct AreWords;
template <class... Parameters>
struct AreWords<LibraryFunction<int(Parameters...)>> {
  static constexpr bool value = sizeof...(Parameters) <= kMostArguments &&
                                ((std::is_integral_v<Parameters> || std::is_pointer_v<Parameters>) && ...) &&
                                ((sizeof(Parameters) <= sizeof(Word)) && ...);
};

// The function that PMPI_x calls: the library's function if a tool makes the call, else that of TEMPI.
template <auto kMember, class Function>
PassedFn::Pointer profiled(Function ours) {
  const RealTables* const known = Inside::is_in_entry() ? known_real_tables.load(std::memory_order_acquire) : nullptr;
  const Function library = known != nullptr && known->have_tool ? (known->pmpi.*kMember).get() : nullptr;
  return reinterpret_cast<PassedFn::Pointer>(reinterpret_cast<void*>(library != nullptr ? library : ours));
}
}  // namespace tempi::interpose

// TEMPI_LIST (a, b) expands to a, b: it removes the parentheses of a list.
#define TEMPI_LIST(...) __VA_ARGS__

// The arguments of a function as words, for calls that do not use the types of its parameters
// (mpi/real.hpp).
#define TEMPI_WORDS(type) \
  type a, type b, type c, type d, type e, type f, type g, type h, type i, type j, type k, type l, type m, type n

// TEMPI_ENTRY(MPI_Pack, (parameters), body(real, ...)): defines MPI_Pack and PMPI_Pack. `real` is the layer below the
// name that the program called. The names are given to the linker, not to C++: mpi.h declares them with other types.
// The parameters must be those of the function's row in base/functions.def.
#define TEMPI_ENTRY(name, parameters, call)                                                                          \
  extern "C" __attribute__((visibility("default"))) int tempi_entry_##name parameters __asm__(#name);                \
  static_assert(std::is_same_v<decltype(&tempi_entry_##name), decltype(::tempi::Real::name)::Pointer>,               \
                #name ": the entry has other parameters than its row in base/functions.def");                        \
  static_assert(::tempi::interpose::AreWords<decltype(::tempi::Real::name)>::value,                                  \
                #name ": a parameter is longer than a word, or there are too many");                                 \
  extern "C" int tempi_entry_##name parameters {                                                                     \
    const ::tempi::Inside inside;                                                                                    \
    const ::tempi::Real& real = ::tempi::real_mpi();                                                                 \
    return inside.leave(call);                                                                                       \
  }                                                                                                                  \
  static int tempi_profiled_##name parameters {                                                                      \
    const ::tempi::Inside inside;                                                                                    \
    const ::tempi::Real& real = ::tempi::real_pmpi();                                                                \
    return inside.leave(call);                                                                                       \
  }                                                                                                                  \
  extern "C"                                                                                                         \
      __attribute__((visibility("default"))) int tempi_entry_P##name(TEMPI_WORDS(::tempi::Word)) __asm__("P" #name); \
  extern "C" int tempi_entry_P##name(TEMPI_WORDS(::tempi::Word)) {                                                   \
    return ::tempi::interpose::profiled<&::tempi::Real::name>(&tempi_profiled_##name)(TEMPI_WORDS());                \
  }
