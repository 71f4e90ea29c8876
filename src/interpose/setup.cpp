// MPI-4.1, 11 Process Initialization, Creation, and Management.
#include <algorithm>
#include <atomic>

#include "base/options.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "process/lifetime.hpp"
#include "process/report.hpp"
#include "request/progress.hpp"
#include "request/progress_mode.hpp"

namespace tempi::interpose {
namespace {

// The environment is read as it is before the library adds to it.
const Real& before(const Real& real) {
  options();
  return real;
}

int begun(int code, World world) {
  if (code != MPI_SUCCESS) return code;
  begin(world);
  if (active()) begin_report();
  return code;
}

// The highest level that the program is told: the one that it requested, if TEMPI requested a higher one.
std::atomic<int> most_told{MPI_THREAD_MULTIPLE};

int told(int code, int* provided) {
  if (code == MPI_SUCCESS && provided != nullptr) *provided = std::min(*provided, most_told.load());
  return code;
}

int init_thread(const Real& real, int* argc, char*** argv, int required, int* provided) {
  const int wanted = active() ? wanted_thread_level(required) : required;
  if (wanted > required) most_told = required;
  return told(real.MPI_Init_thread(argc, argv, wanted, provided), provided);
}

int init(const Real& real, int* argc, char*** argv) {
  int level = MPI_THREAD_SINGLE;
  if (!active() || wanted_thread_level(level) == level) return real.MPI_Init(argc, argv);
  return init_thread(real, argc, argv, level, &level);
}

int finalize(const Real& real) {
  end_world();
  const int code = real.MPI_Finalize();
  if (active()) end_report();
  return code;
}

}  // namespace

TEMPI_ENTRY(MPI_Init, (int* argc, char*** argv), begun(init(before(real), argc, argv), World::yes))

TEMPI_ENTRY(MPI_Init_thread, (int* argc, char*** argv, int required, int* provided),
            begun(init_thread(before(real), argc, argv, required, provided), World::yes))

TEMPI_ENTRY(MPI_Query_thread, (int* provided), told(real.MPI_Query_thread(provided), provided))

#if TEMPI_HAVE_MPI_Session_init
namespace {

int session_init(const Real& real, Handle info, Handle errhandler, void* session) {
  if (real.MPI_Session_init == nullptr) return kFunctionIsMissing;
  message::let_calls_overlap();
  return begun(before(real).MPI_Session_init(info, errhandler, session), World::no);
}

int session_finalize(const Real& real, void* session) {
  if (real.MPI_Session_finalize == nullptr) return kFunctionIsMissing;
  end_session();
  const int code = real.MPI_Session_finalize(session);
  if (code != MPI_SUCCESS) keep_session();
  else if (active()) end_report();
  return code;
}

}  // namespace

TEMPI_ENTRY(MPI_Session_init, (Handle info, Handle errhandler, void* session),
            session_init(real, info, errhandler, session))

TEMPI_ENTRY(MPI_Session_finalize, (void* session), session_finalize(real, session))
#endif

TEMPI_ENTRY(MPI_Finalize, (void), finalize(real))

}  // namespace tempi::interpose
