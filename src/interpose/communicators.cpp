// MPI-4.1, 7.4.2 and 8.5: the calls that make communicators of all members of a parent. They start pending sends, and
// are counted for the ids of communicators (peer/ids.hpp).
#include <limits>

#include "interpose/entry.hpp"
#include "message/message_call.hpp"
#include "peer/ids.hpp"

namespace tempi::interpose {
namespace {

constexpr Handle kUntouched = ~Handle{0};  // no handle of any ABI

// A handle that a call hands back. MPICH reports success of a failed call if the program's error handler returns; the
// handle tells.
class HandedBack {
 public:
  explicit HandedBack(void* program) : program_(program) {}
  ~HandedBack() {
    if (is_set()) store_handle(program_, get());
  }
  HandedBack(const HandedBack&) = delete;
  HandedBack& operator=(const HandedBack&) = delete;

  // For the library; null if the program's address is.
  void* address() { return program_ != nullptr ? &handle_ : nullptr; }
  bool is_set() const { return key_of(handle_) != key_of(kUntouched); }
  Handle get() const { return key_of(handle_); }

 private:
  void* program_;
  Handle handle_ = kUntouched;
};

constexpr auto kNever = [] { return false; };

// `may_be_left_out()`: this process may be in none of the children.
template <class LeftOut, class Call>
int counted(Handle parent, void* child, const LeftOut& may_be_left_out, const Call& call) noexcept {
  peer::Creation creation(parent);
  HandedBack made(child);
  const int code = call(made.address());
  const bool is_null = made.is_set() && made.get() == key_of(comm_null());
  if (code != MPI_SUCCESS || !made.is_set() || (is_null && !may_be_left_out())) creation.failed();
  else if (!is_null) creation.made(made.get());
  return code;
}

template <class LeftOut, class Call>
int create(Handle parent, void* child, const LeftOut& may_be_left_out, const Call& call) noexcept {
  Engine::flush();
  return Engine::tended(peer::counts_creations() ? counted(parent, child, may_be_left_out, call) : call(child));
}

// The child's handle is set by the completion of the request.
template <class Call>
int begin_create(Handle parent, void* request, const Call& call) noexcept {
  if (!peer::counts_creations()) return call(request);
  peer::Creation creation(parent);
  HandedBack made(request);
  const int code = call(made.address());
  if (!made.is_set() || !is_made(code, made.get())) creation.failed();
  return code;
}

bool is_outside(Handle parent, Count n_members) {
  int rank = 0;
  return real_pmpi().MPI_Comm_rank(parent, &rank) == MPI_SUCCESS && rank >= n_members;
}

// Of a grid; more than there are ranks if it has none.
Count grid_size(int n_dimensions, const int* dimensions) {
  constexpr Count kMost = std::numeric_limits<int>::max();
  Count size = 1;
  for (int i = 0; i < n_dimensions && size <= kMost; ++i) size *= dimensions[i] > 0 ? dimensions[i] : kMost + 1;
  return size;
}

}  // namespace

TEMPI_ENTRY(MPI_Comm_dup, (Handle comm, void* made),
            create(comm, made, kNever, [&](void* into) { return real.MPI_Comm_dup(comm, into); }))

TEMPI_ENTRY(MPI_Comm_dup_with_info, (Handle comm, Handle info, void* made), create(comm, made, kNever, [&](void* into) {
              return call_if_there(real.MPI_Comm_dup_with_info, comm, info, into);
            }))

TEMPI_ENTRY(MPI_Comm_idup, (Handle comm, void* made, void* request), begin_create(comm, request, [&](void* into) {
              return call_if_there(real.MPI_Comm_idup, comm, made, into);
            }))

TEMPI_ENTRY(MPI_Comm_idup_with_info, (Handle comm, Handle info, void* made, void* request),
            begin_create(comm, request, [&](void* into) {
              return call_if_there(real.MPI_Comm_idup_with_info, comm, info, made, into);
            }))

TEMPI_ENTRY(
    MPI_Comm_create, (Handle comm, Handle group, void* made),
    create(comm, made, [] { return true; }, [&](void* into) { return real.MPI_Comm_create(comm, group, into); }))

TEMPI_ENTRY(MPI_Comm_split, (Handle comm, int color, int key, void* made),
            create(
                comm, made, [&] { return color == MPI_UNDEFINED; },
                [&](void* into) { return real.MPI_Comm_split(comm, color, key, into); }))

TEMPI_ENTRY(MPI_Comm_split_type, (Handle comm, int split_type, int key, Handle info, void* made),
            create(
                comm, made, [&] { return split_type == MPI_UNDEFINED; },
                [&](void* into) { return call_if_there(real.MPI_Comm_split_type, comm, split_type, key, info, into); }))

TEMPI_ENTRY(MPI_Cart_create,
            (Handle comm, int n_dimensions, const int* dimensions, const int* periods, int reorder, void* made),
            create(
                comm, made, [&] { return is_outside(comm, grid_size(n_dimensions, dimensions)); },
                [&](void* into) {
                  return real.MPI_Cart_create(comm, n_dimensions, dimensions, periods, reorder, into);
                }))

TEMPI_ENTRY(MPI_Cart_sub, (Handle comm, const int* remains, void* made),
            create(comm, made, kNever, [&](void* into) { return real.MPI_Cart_sub(comm, remains, into); }))

TEMPI_ENTRY(MPI_Graph_create, (Handle comm, int n_nodes, const int* index, const int* edges, int reorder, void* made),
            create(
                comm, made, [&] { return is_outside(comm, n_nodes); },
                [&](void* into) { return real.MPI_Graph_create(comm, n_nodes, index, edges, reorder, into); }))

TEMPI_ENTRY(MPI_Dist_graph_create,
            (Handle comm, int n, const int* sources, const int* degrees, const int* destinations, const int* weights,
             Handle info, int reorder, void* made),
            create(comm, made, kNever, [&](void* into) {
              return call_if_there(real.MPI_Dist_graph_create, comm, n, sources, degrees, destinations, weights, info,
                                   reorder, into);
            }))

TEMPI_ENTRY(MPI_Dist_graph_create_adjacent,
            (Handle comm, int n_in, const int* sources, const int* source_weights, int n_out, const int* destinations,
             const int* destination_weights, Handle info, int reorder, void* made),
            create(comm, made, kNever, [&](void* into) {
              return call_if_there(real.MPI_Dist_graph_create_adjacent, comm, n_in, sources, source_weights, n_out,
                                   destinations, destination_weights, info, reorder, into);
            }))

}  // namespace tempi::interpose
