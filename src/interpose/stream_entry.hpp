// Code for the entries of MPICH's stream extensions.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"

namespace tempi::interpose {

inline bool handles_calls() { return active() && !is_switched_off(); }

// The library's function, for what is not TEMPI's.
template <class Fn, class... Arguments>
int to_library(const Fn& library, Handle comm, Arguments... arguments) {
  if (library == nullptr) return raise(comm, MPI_ERR_UNSUPPORTED_OPERATION);
  flush_sends();
  return tended(library(arguments...));
}

// Gives the errors of `fn` to the error handler, once.
template <class Fn>
int told(Handle comm, const Fn& fn) noexcept {
  return guarded_and_tended(comm, [&] {
    const int code = fn();
    return code != MPI_SUCCESS ? raise(comm, code) : code;
  });
}

// The entry of that name; null: it is not in this file.
struct EntryRow {
  const char* name;
  void* function;
};
void* find_enqueue_entry(std::string_view name);  // enqueue.cpp

#define TEMPI_ENTRY_ROW(name) {#name, reinterpret_cast<void*>(&tempi_entry_##name)}

inline void* find_entry(std::span<const EntryRow> rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const EntryRow& row) { return row.name == name; });
  return found != rows.end() ? found->function : nullptr;
}

}  // namespace tempi::interpose
