// MPICH's messages and reductions as work of a stream (include/tempi_mpix.h).
#include <iterator>
#include <vector>

#include "collective/calls.hpp"
#include "collective/reduced.hpp"
#include "interpose/stream_entry.hpp"
#include "stream/stream_comm.hpp"

namespace tempi::interpose {
namespace {

// ---- messages

[[noreturn]] void say_no_stream() {
  throw Error(ErrorKind::stream, "the communicator has no stream of CUDA: MPIX_Stream_comm_create makes one");
}

// The library's function, or that of TEMPI with the communicator's stream.
template <class Fn, class Ours, class... Arguments>
int on_stream_comm(const Fn& library, Handle comm, const Ours& ours, Arguments... arguments) noexcept {
  const StreamCommPtr known = find_stream_comm(comm);
  if (!known && (library != nullptr || !handles_calls())) return to_library(library, comm, arguments...);
  return told(comm, [&] {
    if (!known) say_no_stream();
    return ours(known);
  });
}

int move(const StreamCommPtr& comm, const Envelope& envelope, MPI_Status* status) {
  OperationPtr one;
  if (const int code = begin_operation(comm, envelope, one); code != MPI_SUCCESS) return code;
  const int code = complete_operations({&one, 1});
  if (!one->is_send) tell_status(*one, status);
  return code;
}

int begin(const StreamCommPtr& comm, const Envelope& envelope, void* request) {
  OperationPtr one;
  const int code = begin_operation(comm, envelope, one);
  return code != MPI_SUCCESS ? code : give_request(one, request);
}

struct Named {
  std::vector<OperationPtr> all{};  // null: the request is null, or not one of TEMPI
  bool has_ours = false, has_others = false;
};

Named operations_of(int count, const char* requests) {
  Named found;
  for (int i = 0; i < count; ++i) {
    const Handle request = load_handle(requests + i * kRequestBytes);
    found.all.push_back(is_null(request) ? nullptr : find_operation(request));
    if (found.all.back()) found.has_ours = true;
    else if (!is_null(request)) found.has_others = true;
  }
  return found;
}

Handle comm_of(const std::vector<OperationPtr>& operations) {
  for (const OperationPtr& one : operations) {
    if (one && one->of) return one->of->comm;
  }
  return comm_world();
}

int wait_for(const std::vector<OperationPtr>& all, char* requests, MPI_Status* statuses, bool is_array) {
  std::vector<OperationPtr> named;
  std::copy_if(all.begin(), all.end(), std::back_inserter(named),
               [](const OperationPtr& one) { return one != nullptr; });
  const int code = complete_operations(named);
  Operation nothing;
  nothing.is_send = true;  // its status is the empty one
  for (std::size_t i = 0; i < all.size(); ++i) {
    const OperationPtr& one = all[i];
    if (!are_ignored(statuses)) {
      tell_status(one ? *one : nothing, statuses + i);
      if (is_array) statuses[i].MPI_ERROR = one ? one->code : MPI_SUCCESS;
    }
    if (one) take_request(requests + i * kRequestBytes);
  }
  return code != MPI_SUCCESS && is_array && !are_ignored(statuses) ? MPI_ERR_IN_STATUS : code;
}

template <class Library>
int wait_for(const Library& library, bool has_library, int count, void* requests, MPI_Status* statuses,
             bool is_array) noexcept {
  return guarded_and_tended(comm_world(), [&] {
    if (count < 0) return has_library ? library() : raise(comm_world(), MPI_ERR_COUNT);
    auto* const handles = static_cast<char*>(requests);
    const Named named = operations_of(count, handles);
    if (named.has_others)
      return has_library && !named.has_ours ? library() : raise(comm_of(named.all), MPI_ERR_REQUEST);
    return told(comm_of(named.all), [&] { return wait_for(named.all, handles, statuses, is_array); });
  });
}

// ---- reductions

template <class Number>
int allreduce(const Real& real, const StreamCommPtr& comm, const void* sendbuf, void* recvbuf, Number count,
              Handle datatype, Handle op) {
  const collective::Reducing<collective::describe_allreduce> describe{op};
  const auto init = [&](Handle own, void* request) {
    return collective::reduce(
        {real_pmpi(), Function::MPI_Allreduce_init, own, Lifetime::programs, request},
        [&](auto... given) {
          if constexpr (sizeof(Number) == sizeof(int))
            return call_if_there(real_pmpi().MPI_Allreduce_init, given..., op, own, info_null(), request);
          else return call_if_there(real_pmpi().MPI_Allreduce_init_c, given..., op, own, info_null(), request);
        },
        describe, sendbuf, recvbuf, count, datatype);
  };
  const auto run_it = [&](Handle own) {
    return collective::reduce(
        {real, Function::MPI_Allreduce, own, Lifetime::call},
        [&](auto... given) {
          if constexpr (sizeof(Number) == sizeof(int)) return call_if_there(real.MPI_Allreduce, given..., op, own);
          else return call_if_there(real.MPI_Allreduce_c, given..., op, own);
        },
        describe, sendbuf, recvbuf, count, datatype);
  };
  const bool has_kernel = collective::reduced_by_kernel(datatype, op).has_value();
  return allreduce_on_stream(comm, {sendbuf, recvbuf, count, datatype, op, has_kernel, init, run_it});
}

int allreduce_of_any_count(const Real& real, const StreamCommPtr& comm, const void* sendbuf, void* recvbuf, Count count,
                           Handle datatype, Handle op) {
  return fits_int(count) ? allreduce(real, comm, sendbuf, recvbuf, static_cast<int>(count), datatype, op)
                         : allreduce(real, comm, sendbuf, recvbuf, count, datatype, op);
}

}  // namespace

#define TEMPI_ENQUEUE(name, Number)                                                                                   \
  TEMPI_ENTRY(MPIX_Send_enqueue##name,                                                                                \
              (const void* buffer, Number count, Handle datatype, int destination, int tag, Handle comm),             \
              on_stream_comm(                                                                                         \
                  real.MPIX_Send_enqueue##name, comm,                                                                 \
                  [&](const StreamCommPtr& known) {                                                                   \
                    return move(known,                                                                                \
                                {outgoing(Function::MPI_Send_init, buffer, count, datatype, comm), destination, tag}, \
                                nullptr);                                                                             \
                  },                                                                                                  \
                  buffer, count, datatype, destination, tag, comm))                                                   \
  TEMPI_ENTRY(MPIX_Recv_enqueue##name,                                                                                \
              (void* buffer, Number count, Handle datatype, int source, int tag, Handle comm, MPI_Status* status),    \
              on_stream_comm(                                                                                         \
                  real.MPIX_Recv_enqueue##name, comm,                                                                 \
                  [&](const StreamCommPtr& known) {                                                                   \
                    return move(known,                                                                                \
                                {incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag},      \
                                status);                                                                              \
                  },                                                                                                  \
                  buffer, count, datatype, source, tag, comm, status))                                                \
  TEMPI_ENTRY(                                                                                                        \
      MPIX_Isend_enqueue##name,                                                                                       \
      (const void* buffer, Number count, Handle datatype, int destination, int tag, Handle comm, void* request),      \
      on_stream_comm(                                                                                                 \
          real.MPIX_Isend_enqueue##name, comm,                                                                        \
          [&](const StreamCommPtr& known) {                                                                           \
            return begin(known, {outgoing(Function::MPI_Send_init, buffer, count, datatype, comm), destination, tag}, \
                         request);                                                                                    \
          },                                                                                                          \
          buffer, count, datatype, destination, tag, comm, request))                                                  \
  TEMPI_ENTRY(MPIX_Irecv_enqueue##name,                                                                               \
              (void* buffer, Number count, Handle datatype, int source, int tag, Handle comm, void* request),         \
              on_stream_comm(                                                                                         \
                  real.MPIX_Irecv_enqueue##name, comm,                                                                \
                  [&](const StreamCommPtr& known) {                                                                   \
                    return begin(known,                                                                               \
                                 {incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag},     \
                                 request);                                                                            \
                  },                                                                                                  \
                  buffer, count, datatype, source, tag, comm, request))                                               \
  TEMPI_ENTRY(MPIX_Allreduce_enqueue##name,                                                                           \
              (const void* sendbuf, void* recvbuf, Number count, Handle datatype, Handle op, Handle comm),            \
              on_stream_comm(                                                                                         \
                  real.MPIX_Allreduce_enqueue##name, comm,                                                            \
                  [&](const StreamCommPtr& known) {                                                                   \
                    return allreduce_of_any_count(real, known, sendbuf, recvbuf, count, datatype, op);                \
                  },                                                                                                  \
                  sendbuf, recvbuf, count, datatype, op, comm))
TEMPI_ENQUEUE(, int)
TEMPI_ENQUEUE(_c, Count)

TEMPI_ENTRY(MPIX_Wait_enqueue, (void* request, MPI_Status* status),
            wait_for([&] { return to_library(real.MPIX_Wait_enqueue, comm_world(), request, status); },
                     real.MPIX_Wait_enqueue != nullptr, 1, request, status, false))
TEMPI_ENTRY(MPIX_Waitall_enqueue, (int count, void* requests, MPI_Status* statuses),
            wait_for([&] { return to_library(real.MPIX_Waitall_enqueue, comm_world(), count, requests, statuses); },
                     real.MPIX_Waitall_enqueue != nullptr, count, requests, statuses, true))

namespace {

#define TEMPI_ROWS(name) TEMPI_ENTRY_ROW(name), TEMPI_ENTRY_ROW(name##_c)
const EntryRow kRows[] = {TEMPI_ROWS(MPIX_Send_enqueue),        TEMPI_ROWS(MPIX_Recv_enqueue),
                          TEMPI_ROWS(MPIX_Isend_enqueue),       TEMPI_ROWS(MPIX_Irecv_enqueue),
                          TEMPI_ROWS(MPIX_Allreduce_enqueue),   TEMPI_ENTRY_ROW(MPIX_Wait_enqueue),
                          TEMPI_ENTRY_ROW(MPIX_Waitall_enqueue)};

}  // namespace

void* find_enqueue_entry(std::string_view name) { return find_entry(kRows, name); }

}  // namespace tempi::interpose
