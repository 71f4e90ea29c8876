// MPI-4.1, chapter 12: one-sided calls, and those that complete them.
#include "call/call_forms.hpp"
#include "call/passes_alone.hpp"
#include "collective/window.hpp"
#include "interpose/entry.hpp"
#include "window/access.hpp"
#include "window/creation.hpp"
#include "window/epochs.hpp"

namespace tempi::interpose {

using namespace collective;

namespace {

Call window_call(const Real& real, Function function, Handle win, void* request) {
  return {real, function, comm_null(), Lifetime::plain, request, nullptr, Owner::window, win};
}

// Which arguments of the origin count.
void (*fetched_by(Handle op))(Ends&) { return key_of(op) == key_of(op_no_op()) ? &describe_result : &describe_fetch; }

// To GPU memory of a window, or by the library.
int access_any(const Call& call, const Ends& origin, const window::Target& target, Handle operation,
               DescribeAlone describe, Library library) noexcept {
  if (const std::optional<int> code = window::access(call, origin, target, operation)) return *code;
  return access(call, origin, target.rank, describe, library);
}

template <class Unit>
int store_shared(const window::Shared& part, Aint* bytes, Unit* unit, void* base) {
  *bytes = part.bytes;
  *unit = static_cast<Unit>(part.unit);
  *static_cast<void**>(base) = part.base;
  return MPI_SUCCESS;
}

template <class Unit>
int shared_query(Handle win, int rank, Aint* bytes, Unit* unit, void* base, FunctionRef<int()> library) noexcept {
  const bool is_sound = bytes != nullptr && unit != nullptr && base != nullptr;
  const std::optional<window::Shared> part = is_sound ? window::shared_part(win, rank) : std::nullopt;
  return part ? store_shared(*part, bytes, unit, base) : library();
}

}  // namespace

// One buffer; `after` stands behind the target's arguments.
#define TEMPI_ACCESS(entry, name, Number, Buffer, describe, request, op, extra, after)                               \
  TEMPI_ENTRY(entry,                                                                                                 \
              (Buffer origin, Number origin_count, Handle origin_type, int target, Aint displacement,                \
               Number target_count, Handle target_type TEMPI_LIST extra),                                            \
              passes_alone() ? call_if_there(real.entry, origin, origin_count, origin_type, target, displacement,    \
                                             target_count, target_type, TEMPI_LIST after)                            \
                             : access_any(window_call(real, Function::name, win, request),                           \
                                          {{}, buffer_of(origin, origin_count, origin_type)},                        \
                                          {target, displacement, target_count, target_type}, op, describe,           \
                                          [&](const GivenArgument&, const GivenArgument& in, const GivenArgument&) { \
                                            return call_if_there(real.entry, in.writable(), origin_count, in.type,   \
                                                                 target, displacement, target_count, target_type,    \
                                                                 TEMPI_LIST after);                                  \
                                          }))

#define TEMPI_ACCESSES(kind, name, ...) kind(name, name, int, __VA_ARGS__) kind(name##_c, name, Count, __VA_ARGS__)

TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Put, const void*, &describe_put, nullptr, 0, (, Handle win), (win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Get, void*, &describe_get, nullptr, 0, (, Handle win), (win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Accumulate, const void*, &describe_accumulate, nullptr, op, (, Handle op, Handle win),
               (op, win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Rput, const void*, &describe_put, request, 0, (, Handle win, void* request),
               (win, request))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Rget, void*, &describe_get, request, 0, (, Handle win, void* request), (win, request))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Raccumulate, const void*, &describe_accumulate, request, op,
               (, Handle op, Handle win, void* request), (op, win, request))

#define TEMPI_FETCH(entry, name, Number, request, extra, after)                                                      \
  TEMPI_ENTRY(                                                                                                       \
      entry,                                                                                                         \
      (const void* origin, Number origin_count, Handle origin_type, void* result, Number result_count,               \
       Handle result_type, int target, Aint displacement, Number target_count, Handle target_type, Handle op,        \
       Handle win TEMPI_LIST extra),                                                                                 \
      passes_alone()                                                                                                 \
          ? call_if_there(real.entry, origin, origin_count, origin_type, result, result_count, result_type, target,  \
                          displacement, target_count, target_type, op, win TEMPI_LIST after)                         \
          : access_any(window_call(real, Function::name, win, request),                                              \
                       {buffer_of(origin, origin_count, origin_type), buffer_of(result, result_count, result_type)}, \
                       {target, displacement, target_count, target_type}, op, fetched_by(op),                        \
                       [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {                \
                         return call_if_there(real.entry, out.address, origin_count, origin_type, in.writable(),     \
                                              result_count, result_type, target, displacement, target_count,         \
                                              target_type, op, win TEMPI_LIST after);                                \
                       }))

TEMPI_ACCESSES(TEMPI_FETCH, MPI_Get_accumulate, nullptr, (), ())
TEMPI_ACCESSES(TEMPI_FETCH, MPI_Rget_accumulate, request, (, void* request), (, request))

TEMPI_ENTRY(MPI_Fetch_and_op,
            (const void* origin, void* result, Handle datatype, int target, Aint displacement, Handle op, Handle win),
            passes_alone()
                ? call_if_there(real.MPI_Fetch_and_op, origin, result, datatype, target, displacement, op, win)
                : access_any(window_call(real, Function::MPI_Fetch_and_op, win, nullptr),
                             {buffer_of(origin, 1, datatype), buffer_of(result, 1, datatype)},
                             {target, displacement, 1, datatype}, op, fetched_by(op),
                             [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
                               return call_if_there(real.MPI_Fetch_and_op, out.address, in.writable(), datatype, target,
                                                    displacement, op, win);
                             }))

TEMPI_ENTRY(
    MPI_Compare_and_swap,
    (const void* origin, const void* compared, void* result, Handle datatype, int target, Aint displacement,
     Handle win),
    passes_alone()
        ? call_if_there(real.MPI_Compare_and_swap, origin, compared, result, datatype, target, displacement, win)
        : access_any(window_call(real, Function::MPI_Compare_and_swap, win, nullptr),
                     {buffer_of(origin, 1, datatype), buffer_of(result, 1, datatype), buffer_of(compared, 1, datatype)},
                     {target, displacement, 1, datatype}, 0, &describe_fetch,
                     [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument& with) {
                       return call_if_there(real.MPI_Compare_and_swap, out.address, with.address, in.writable(),
                                            datatype, target, displacement, win);
                     }))

// Epochs, and completion of one target or of all.
#define TEMPI_OF_ALL(name, fn) \
  TEMPI_ENTRY(name, (Handle win), window::fn(win, [&] { return call_if_there(real.name, win); }))
#define TEMPI_OF_ONE(name, fn) \
  TEMPI_ENTRY(name, (int rank, Handle win), window::fn(rank, win, [&] { return call_if_there(real.name, rank, win); }))

TEMPI_OF_ALL(MPI_Win_complete, complete)
TEMPI_OF_ALL(MPI_Win_unlock_all, unlock_all)
TEMPI_OF_ALL(MPI_Win_flush_all, flush_all)
TEMPI_OF_ALL(MPI_Win_flush_local_all, flush_all)
TEMPI_OF_ALL(MPI_Win_sync, sync)
TEMPI_OF_ONE(MPI_Win_unlock, unlock)
TEMPI_OF_ONE(MPI_Win_flush, flush)
TEMPI_OF_ONE(MPI_Win_flush_local, flush)
TEMPI_ENTRY(MPI_Win_fence, (int assertion, Handle win),
            window::fence(assertion, win, [&] { return real.MPI_Win_fence(assertion, win); }))
TEMPI_ENTRY(MPI_Win_start, (Handle group, int assertion, Handle win),
            window::start(group, win, [&] { return real.MPI_Win_start(group, assertion, win); }))
TEMPI_ENTRY(MPI_Win_post, (Handle group, int assertion, Handle win),
            window::post(group, win, [&] { return real.MPI_Win_post(group, assertion, win); }))
TEMPI_ENTRY(MPI_Win_lock, (int lock_type, int rank, int assertion, Handle win),
            window::lock(lock_type, rank, win, [&] { return real.MPI_Win_lock(lock_type, rank, assertion, win); }))
TEMPI_ENTRY(MPI_Win_lock_all, (int assertion, Handle win),
            window::lock_all(win, [&] { return call_if_there(real.MPI_Win_lock_all, assertion, win); }))

// Creation and end.
namespace {

int make_empty(const Real& real, int unit, Handle info, Handle comm, void* win) {
  void* none = nullptr;
  return call_if_there(real.MPI_Win_allocate_shared, Aint{0}, unit, info, comm, static_cast<void*>(&none), win);
}

}  // namespace

#define TEMPI_WIN_CREATE(entry, Unit)                                                            \
  TEMPI_ENTRY(entry, (void* base, Aint bytes, Unit unit, Handle info, Handle comm, void* win),   \
              window::create(                                                                    \
                  base, bytes, unit, comm, win,                                                  \
                  [&](void* given, Aint given_bytes) {                                           \
                    return call_if_there(real.entry, given, given_bytes, unit, info, comm, win); \
                  },                                                                             \
                  [&](int given_unit) { return make_empty(real, given_unit, info, comm, win); }))
TEMPI_WIN_CREATE(MPI_Win_create, int)
TEMPI_WIN_CREATE(MPI_Win_create_c, Aint)
#define TEMPI_WIN_ALLOCATE(entry, Unit)                                                                          \
  TEMPI_ENTRY(                                                                                                   \
      entry, (Aint bytes, Unit unit, Handle info, Handle comm, void* base, void* win),                           \
      window::allocate(                                                                                          \
          bytes, unit, info, comm, base, win,                                                                    \
          [&](Aint given_bytes) { return call_if_there(real.entry, given_bytes, unit, info, comm, base, win); }, \
          [&](int given_unit) { return make_empty(real, given_unit, info, comm, win); }))
TEMPI_WIN_ALLOCATE(MPI_Win_allocate, int)
TEMPI_WIN_ALLOCATE(MPI_Win_allocate_c, Aint)
#define TEMPI_WIN_ALLOCATE_SHARED(entry, Unit)                                                 \
  TEMPI_ENTRY(entry, (Aint bytes, Unit unit, Handle info, Handle comm, void* base, void* win), \
              window::allocate_shared([&] { return call_if_there(real.entry, bytes, unit, info, comm, base, win); }))
TEMPI_WIN_ALLOCATE_SHARED(MPI_Win_allocate_shared, int)
TEMPI_WIN_ALLOCATE_SHARED(MPI_Win_allocate_shared_c, Aint)
#define TEMPI_SHARED_QUERY(entry, Unit)                                           \
  TEMPI_ENTRY(entry, (Handle win, int rank, Aint* bytes, Unit* unit, void* base), \
              shared_query(win, rank, bytes, unit, base,                          \
                           [&] { return call_if_there(real.entry, win, rank, bytes, unit, base); }))
TEMPI_SHARED_QUERY(MPI_Win_shared_query, int)
TEMPI_SHARED_QUERY(MPI_Win_shared_query_c, Aint)
TEMPI_ENTRY(MPI_Win_create_dynamic, (Handle info, Handle comm, void* win), window::create_dynamic(comm, win, [&] {
              return call_if_there(real.MPI_Win_create_dynamic, info, comm, win);
            }))
TEMPI_ENTRY(MPI_Win_detach, (Handle win, const void* base),
            window::detach(base, win, [&] { return call_if_there(real.MPI_Win_detach, win, base); }))
TEMPI_ENTRY(MPI_Win_attach, (Handle win, void* base, Aint bytes),
            window::attach(base, bytes, win, [&] { return call_if_there(real.MPI_Win_attach, win, base, bytes); }))
TEMPI_ENTRY(MPI_Win_free, (void* win), window::free(win, [&] { return real.MPI_Win_free(win); }))
TEMPI_ENTRY(MPI_Win_get_attr, (Handle win, int keyval, void* value, int* flag),
            window::get_attribute(win, keyval, value, flag,
                                  [&] { return real.MPI_Win_get_attr(win, keyval, value, flag); }))

}  // namespace tempi::interpose
