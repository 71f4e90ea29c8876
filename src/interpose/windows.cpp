// MPI-4.1, chapter 12: one-sided calls, and those that complete them.
#include "call/call_forms.hpp"
#include "call/passes_alone.hpp"
#include "collective/window.hpp"
#include "collective/window_memory.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {

using namespace collective;

namespace {

Call window_call(const Real& real, Function function, Handle win, void* request) {
  return {real, function, comm_null(), Lifetime::plain, request, nullptr, Owner::window, win};
}

// Which arguments of the origin count.
void (*fetched_by(Handle op))(Ends&) { return key_of(op) == key_of(op_no_op()) ? &describe_result : &describe_fetch; }

int free_window(const Real& real, void* win) noexcept {
  if (win == nullptr) return real.MPI_Win_free(win);
  const Handle freed = load_handle(win);
  const int code = complete(freed, kAllTargets, [&] { return real.MPI_Win_free(win); });
  if (code == MPI_SUCCESS) window_ends(freed);
  return code;
}

}  // namespace

// One buffer; `after` stands behind the target's arguments.
#define TEMPI_ACCESS(entry, name, Number, Buffer, describe, request, extra, after)                                     \
  TEMPI_ENTRY(entry,                                                                                                   \
              (Buffer origin, Number origin_count, Handle origin_type, int target, Aint displacement,                  \
               Number target_count, Handle target_type TEMPI_LIST extra),                                              \
              passes_alone() ? call_if_there(real.entry, origin, origin_count, origin_type, target, displacement,      \
                                             target_count, target_type, TEMPI_LIST after)                              \
                             : access(window_call(real, Function::name, win, request),                                 \
                                      {{}, buffer_of(origin, origin_count, origin_type)}, target, describe,            \
                                      [&](const GivenArgument&, const GivenArgument& in, const GivenArgument&) {       \
                                        return call_if_there(real.entry, in.writable(), origin_count, in.type, target, \
                                                             displacement, target_count, target_type,                  \
                                                             TEMPI_LIST after);                                        \
                                      }))

#define TEMPI_ACCESSES(kind, name, ...) kind(name, name, int, __VA_ARGS__) kind(name##_c, name, Count, __VA_ARGS__)

TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Put, const void*, &describe_put, nullptr, (, Handle win), (win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Get, void*, &describe_get, nullptr, (, Handle win), (win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Accumulate, const void*, &describe_accumulate, nullptr, (, Handle op, Handle win),
               (op, win))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Rput, const void*, &describe_put, request, (, Handle win, void* request),
               (win, request))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Rget, void*, &describe_get, request, (, Handle win, void* request), (win, request))
TEMPI_ACCESSES(TEMPI_ACCESS, MPI_Raccumulate, const void*, &describe_accumulate, request,
               (, Handle op, Handle win, void* request), (op, win, request))

#define TEMPI_FETCH(entry, name, Number, request, extra, after)                                                       \
  TEMPI_ENTRY(                                                                                                        \
      entry,                                                                                                          \
      (const void* origin, Number origin_count, Handle origin_type, void* result, Number result_count,                \
       Handle result_type, int target, Aint displacement, Number target_count, Handle target_type, Handle op,         \
       Handle win TEMPI_LIST extra),                                                                                  \
      passes_alone()                                                                                                  \
          ? call_if_there(real.entry, origin, origin_count, origin_type, result, result_count, result_type, target,   \
                          displacement, target_count, target_type, op, win TEMPI_LIST after)                          \
          : access(window_call(real, Function::name, win, request),                                                   \
                   {buffer_of(origin, origin_count, origin_type), buffer_of(result, result_count, result_type)},      \
                   target, fetched_by(op),                                                                            \
                   [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {                     \
                     return call_if_there(real.entry, out.address, origin_count, origin_type, in.writable(),          \
                                          result_count, result_type, target, displacement, target_count, target_type, \
                                          op, win TEMPI_LIST after);                                                  \
                   }))

TEMPI_ACCESSES(TEMPI_FETCH, MPI_Get_accumulate, nullptr, (), ())
TEMPI_ACCESSES(TEMPI_FETCH, MPI_Rget_accumulate, request, (, void* request), (, request))

TEMPI_ENTRY(MPI_Fetch_and_op,
            (const void* origin, void* result, Handle datatype, int target, Aint displacement, Handle op, Handle win),
            passes_alone()
                ? call_if_there(real.MPI_Fetch_and_op, origin, result, datatype, target, displacement, op, win)
                : access(window_call(real, Function::MPI_Fetch_and_op, win, nullptr),
                         {buffer_of(origin, 1, datatype), buffer_of(result, 1, datatype)}, target, fetched_by(op),
                         [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
                           return call_if_there(real.MPI_Fetch_and_op, out.address, in.writable(), datatype, target,
                                                displacement, op, win);
                         }))

TEMPI_ENTRY(MPI_Compare_and_swap,
            (const void* origin, const void* compared, void* result, Handle datatype, int target, Aint displacement,
             Handle win),
            passes_alone() ? call_if_there(real.MPI_Compare_and_swap, origin, compared, result, datatype, target,
                                           displacement, win)
                           : access(window_call(real, Function::MPI_Compare_and_swap, win, nullptr),
                                    {buffer_of(origin, 1, datatype), buffer_of(result, 1, datatype),
                                     buffer_of(compared, 1, datatype)},
                                    target, &describe_fetch,
                                    [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument& with) {
                                      return call_if_there(real.MPI_Compare_and_swap, out.address, with.address,
                                                           in.writable(), datatype, target, displacement, win);
                                    }))

// Completion, of one target or of all.
#define TEMPI_COMPLETES_ALL(name) \
  TEMPI_ENTRY(name, (Handle win), complete(win, kAllTargets, [&] { return call_if_there(real.name, win); }))
#define TEMPI_COMPLETES_ONE(name) \
  TEMPI_ENTRY(name, (int rank, Handle win), complete(win, rank, [&] { return call_if_there(real.name, rank, win); }))

TEMPI_COMPLETES_ALL(MPI_Win_complete)
TEMPI_COMPLETES_ALL(MPI_Win_unlock_all)
TEMPI_COMPLETES_ALL(MPI_Win_flush_all)
TEMPI_COMPLETES_ALL(MPI_Win_flush_local_all)
TEMPI_COMPLETES_ONE(MPI_Win_unlock)
TEMPI_COMPLETES_ONE(MPI_Win_flush)
TEMPI_COMPLETES_ONE(MPI_Win_flush_local)
TEMPI_ENTRY(MPI_Win_fence, (int assertion, Handle win),
            complete(win, kAllTargets, [&] { return real.MPI_Win_fence(assertion, win); }))
TEMPI_ENTRY(MPI_Win_free, (void* win), free_window(real, win))

#define TEMPI_WIN_CREATE(entry, Unit)                                                          \
  TEMPI_ENTRY(entry, (void* base, Aint bytes, Unit unit, Handle info, Handle comm, void* win), \
              create_window(base, bytes, comm, win, [&](void* given) {                         \
                return call_if_there(real.entry, given, bytes, unit, info, comm, win);         \
              }))
TEMPI_WIN_CREATE(MPI_Win_create, int)
TEMPI_WIN_CREATE(MPI_Win_create_c, Aint)
TEMPI_ENTRY(MPI_Win_attach, (Handle win, void* base, Aint bytes),
            attach_memory(base, bytes, win, [&] { return call_if_there(real.MPI_Win_attach, win, base, bytes); }))

}  // namespace tempi::interpose
