// The door: how a function of the table is exported under its two names.
#pragma once

#include <type_traits>

#include "mpi/real.hpp"
#include "mpi_config.h"

// Entries are translations into the terms of these rooms.
namespace tempi::message {}
namespace tempi::process {}
namespace tempi::interpose {
using namespace message;
using namespace process;
}  // namespace tempi::interpose

// Takes a list in parentheses out of them.
#define TEMPI_LIST(...) __VA_ARGS__

// TEMPI_ENTRY(MPI_Pack, (parameters), body(real, ...)): defines MPI_Pack and PMPI_Pack. `real` is the layer below the
// name that the program called. The names are given to the linker, not to C++: mpi.h declares them with other types.
// The parameters must be those of the function's row in base/functions.def.
#define TEMPI_ENTRY(name, parameters, call)                                                                \
  extern "C" __attribute__((visibility("default"))) int tempi_entry_##name parameters __asm__(#name);      \
  static_assert(std::is_same_v<decltype(&tempi_entry_##name), decltype(::tempi::Real::name)>,              \
                #name ": the entry has other parameters than its row in base/functions.def");              \
  extern "C" int tempi_entry_##name parameters {                                                           \
    const ::tempi::Real& real = ::tempi::real_mpi();                                                       \
    return call;                                                                                           \
  }                                                                                                        \
  extern "C" __attribute__((visibility("default"))) int tempi_entry_P##name parameters __asm__("P" #name); \
  extern "C" int tempi_entry_P##name parameters {                                                          \
    const ::tempi::Real& real = ::tempi::real_pmpi();                                                      \
    return call;                                                                                           \
  }
