// MPI-4.1, 3.7.3 to 3.9: completion of requests, and starting persistent ones.
#include "request/completion.hpp"

#include "base/counters.hpp"
#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"
#include "request/progress.hpp"
#include "request/start.hpp"

namespace tempi::interpose {

// Only our allocations can fail here, so errors go to the error handler of MPI_COMM_WORLD.
#define TEMPI_COMPLETION(name, parameters, call) \
  TEMPI_ENTRY(name, parameters, guarded_and_tended(comm_world(), [&] { return call; }))

namespace {

// All starts have one outcome. The row of the function that made the request says how its messages are handled.
void count_starts(int count) {
  for (int i = 0; active() && i < count; ++i) count_call(Function::MPI_Start, Outcome::started);
}

}  // namespace

// These complete no message, and starting pending sends here would split packs that share a launch.
TEMPI_ENTRY(MPI_Start, (void* request), guarded(comm_world(), [&] {
              count_starts(1);
              return start(real, request);
            }))
TEMPI_ENTRY(MPI_Startall, (int count, void* requests), guarded(comm_world(), [&] {
              count_starts(count);
              return start_all(real, count, requests);
            }))

TEMPI_COMPLETION(MPI_Wait, (void* request, MPI_Status* status),
                 is_idle() ? real.MPI_Wait(request, status) : wait(real, request, status))
TEMPI_COMPLETION(MPI_Waitall, (int count, void* requests, MPI_Status* statuses),
                 is_idle() ? real.MPI_Waitall(count, requests, statuses) : wait_all(real, count, requests, statuses))
TEMPI_COMPLETION(MPI_Waitany, (int count, void* requests, int* index, MPI_Status* status),
                 wait_any(real, count, requests, index, status))
TEMPI_COMPLETION(MPI_Waitsome, (int count, void* requests, int* n_done, int* indices, MPI_Status* statuses),
                 wait_some(real, count, requests, n_done, indices, statuses))

TEMPI_COMPLETION(MPI_Test, (void* request, int* flag, MPI_Status* status), test(real, request, flag, status))
TEMPI_COMPLETION(MPI_Testall, (int count, void* requests, int* flag, MPI_Status* statuses),
                 test_all(real, count, requests, flag, statuses))
TEMPI_COMPLETION(MPI_Testany, (int count, void* requests, int* index, int* flag, MPI_Status* status),
                 test_any(real, count, requests, index, flag, status))
TEMPI_COMPLETION(MPI_Testsome, (int count, void* requests, int* n_done, int* indices, MPI_Status* statuses),
                 test_some(real, count, requests, n_done, indices, statuses))

TEMPI_COMPLETION(MPI_Request_free, (void* request), request_free(real, request))
TEMPI_COMPLETION(MPI_Cancel, (void* request), cancel(real, request))
TEMPI_COMPLETION(MPI_Request_get_status, (Handle request, int* flag, MPI_Status* status),
                 request_get_status(real, request, flag, status))
TEMPI_COMPLETION(MPI_Request_get_status_any,
                 (int count, const void* requests, int* index, int* flag, MPI_Status* status),
                 real.MPI_Request_get_status_any == nullptr
                     ? kFunctionIsMissing
                     : request_get_status_any(real, count, requests, index, flag, status))
TEMPI_COMPLETION(MPI_Request_get_status_all, (int count, const void* requests, int* flag, MPI_Status* statuses),
                 real.MPI_Request_get_status_all == nullptr
                     ? kFunctionIsMissing
                     : request_get_status_all(real, count, requests, flag, statuses))
TEMPI_COMPLETION(MPI_Request_get_status_some,
                 (int count, const void* requests, int* n_done, int* indices, MPI_Status* statuses),
                 real.MPI_Request_get_status_some == nullptr
                     ? kFunctionIsMissing
                     : request_get_status_some(real, count, requests, n_done, indices, statuses))

}  // namespace tempi::interpose
