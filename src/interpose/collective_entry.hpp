// The entries of a collective operation: blocking, nonblocking and persistent, each with int and with large counts.
//
//   name           MPI_Gather; `nonblocking` and `persistent` are its other names
//   parameters     a macro of (Number, Displacement): all parameters up to the communicator, `comm`
//   how            the function of collective/calls.hpp that runs it
//   describe       its description, an object
//   buffers        the names of the parameters that describe the buffers, in parentheses
//   rest           the names of the parameters after them, in parentheses
#pragma once

#include "call/call_forms.hpp"
#include "call/passes_alone.hpp"
#include "collective/calls.hpp"
#include "interpose/entry.hpp"

// True: TEMPI may pack the blocks of the call in host memory, also in a process without a GPU.
inline bool may_pack(tempi::Function function) noexcept {
  return tempi::collective::may_be_packed_on_host(function) &&
         tempi::message::packs_host_memory.load(std::memory_order_relaxed);
}

#define TEMPI_COLLECTIVE_ENTRY(entry, counted, lifetime, request, all_parameters, how, describe, buffers, rest)        \
  TEMPI_ENTRY(                                                                                                         \
      entry, all_parameters,                                                                                           \
      passes_alone() && !may_pack(Function::counted)                                                                   \
          ? call_if_there(real.entry, TEMPI_LIST buffers, TEMPI_LIST rest)                                             \
          : how(                                                                                                       \
                {real, Function::counted, comm, lifetime, request},                                                    \
                [&](auto... given_argument) { return call_if_there(real.entry, given_argument..., TEMPI_LIST rest); }, \
                describe, TEMPI_LIST buffers))

#define TEMPI_COLLECTIVE(name, nonblocking, persistent, parameters, how, describe, buffers, rest)              \
  TEMPI_COLLECTIVE_OF(name, name, nonblocking, nonblocking, persistent, persistent, parameters(int, int), how, \
                      describe, buffers, rest)                                                                 \
  TEMPI_COLLECTIVE_OF(name, name##_c, nonblocking, nonblocking##_c, persistent, persistent##_c,                \
                      parameters(Count, Aint), how, describe, buffers, rest)

#define TEMPI_COLLECTIVE_OF(name, entry, nonblocking, ientry, persistent, pentry, parameters, how, describe, buffers, \
                            rest)                                                                                     \
  TEMPI_COLLECTIVE_ENTRY(entry, name, Lifetime::call, nullptr, (TEMPI_LIST parameters), how, describe, buffers, rest) \
  TEMPI_COLLECTIVE_ENTRY(ientry, nonblocking, Lifetime::plain, request, (TEMPI_LIST parameters, void* request), how,  \
                         describe, buffers, (TEMPI_LIST rest, request))                                               \
  TEMPI_COLLECTIVE_ENTRY(pentry, persistent, Lifetime::programs, request,                                             \
                         (TEMPI_LIST parameters, Handle info, void* request), how, describe, buffers,                 \
                         (TEMPI_LIST rest, info, request))
