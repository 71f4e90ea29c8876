// The nonblocking calls of one function, on one communicator, are carried out by messages or by the library. All
// members must take the same path in the same call, and none may wait for another member to agree.
//
// The members count their calls. The first member that comes to a call decides its path, from the last calls of all
// members:
//
//     call     1  2  3  4  5  6  7  8          latest = 8: the furthest call that a member has come to
//     path     l  l  l  m  m  m  m  m          first = 4: m (messages) from call 4 on, l (library) before it
//
// Invariants
//   The path of a call never changes after a member has come to it.
//   `first` gets a new value only when all members have come to the old one: after that, no member needs the path of a
//   call before the old value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tempi::ipc {

struct PathRecord {
  static constexpr std::uint64_t kMost = (std::uint64_t{1} << 31) - 1;  // from this call on, the path does not change

  std::uint64_t latest = 0, first = 0;
  bool before = false, now = false;  // the path before `first`, and from `first` on; true: by messages

  static PathRecord of(std::uint64_t bits) { return {bits >> 33, bits >> 2 & kMost, (bits & 2) != 0, (bits & 1) != 0}; }
  std::uint64_t bits() const { return latest << 33 | first << 2 | std::uint64_t{before} << 1 | std::uint64_t{now}; }

  // True: a member has come to this call, so its path is known.
  bool has(std::uint64_t call) const { return std::min(call, kMost) <= latest; }
  // The path of the call; true: by messages.
  bool at(std::uint64_t call) const { return std::min(call, kMost) >= first ? now : before; }
  // The record after the first member has come to the call. `wanted`: the path that it wants. `slowest`: the furthest
  // call to which all members have come.
  PathRecord extended(std::uint64_t call, bool wanted, std::uint64_t slowest) const {
    call = std::min(call, kMost);
    if (wanted == now || slowest < first) return {call, first, before, now};
    return {call, call, now, wanted};
  }
};

}  // namespace tempi::ipc
