// The table of the program's datatypes.
//
//     Handle                           an MPI_Datatype of the program (mpi/handle.hpp)
//     └─ KnownType                     bounds and extent, until the datatype is freed
//        └─ pack::Prepared             a plan with its caches (pack/cache.hpp), for each structure
//           ├─ pack::LaunchCache       its launches, and its boxes on the GPU
//           └─ pack::Plan              the analysed structure; never changes (pack/plan.hpp)
//              ├─ datatype::Tree       the canonical tree (datatype/tree.hpp)
//              ├─ datatype::Layout     the boxes of one element (datatype/layout.hpp)
//              │  └─ datatype::Boxes   loops over dense blocks (datatype/box.hpp)
//              └─ pack::Mapping, twice these boxes, for packing and for unpacking
//
// With a count and the two buffers, a mapping becomes a box move (pack/box_move.hpp). A box move
// becomes a launch.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "mpi/handle.hpp"
#include "pack/cache.hpp"

namespace tempi {

inline constexpr std::size_t kPeerKinds = 3;  // this process, another one of the node, one elsewhere

struct KnownType {
  pack::PreparedPtr prepared;
  const pack::Plan* plan;  // of `prepared`
  std::int64_t lower_bound, extent;
  bool is_named;                  // predefined: if it is contiguous, every library moves it correctly
  bool is_dense;                  // any number of elements is contiguous
  bool is_moved_wrongly = false;  // by this MPI library: packing and messages are ours, on host memory too
  mutable std::atomic<bool> is_committed{false};  // true: it is committed, until it is destroyed; false: not known
  // Messages in host memory: for each kind of peer, the last count that TEMPI passed to the library; 0: none.
  mutable std::array<std::atomic<std::int64_t>, kPeerKinds> library_counts{};
  std::int64_t size() const { return plan->layout.size; }
};

// Takes a few ns. Null for a datatype that was not analysed yet.
const KnownType* find_type(Handle datatype) noexcept;

struct Analysis {
  const KnownType* type;     // valid as long as the datatype; null when it is not understood
  bool structure_was_known;  // another datatype had the same structure
};

// Analyses a valid datatype and remembers it until the library destroys it. Does not throw.
Analysis analyse_type(Handle datatype) noexcept;

// True if a datatype that the library moves wrongly may be in use: a committed one that was analysed as such, or one
// not analysed yet.
extern std::atomic<bool> wrong_types_in_use;
inline bool may_use_wrong_types() noexcept { return wrong_types_in_use.load(std::memory_order_relaxed); }

// Call it when the program commits a datatype that TEMPI does not analyse now: the library may move
// this datatype wrongly.
void leave_for_later() noexcept;

// Removes the data of all datatypes: MPI is about to shut down, and destroys them without a callback.
void forget_types() noexcept;

}  // namespace tempi
