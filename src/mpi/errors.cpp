#include "mpi/errors.hpp"

#include <array>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "mpi/real.hpp"

namespace tempi {
namespace {

struct Row {
  int mpi_class;
  const char* text;
};

Row row_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::no_memory: return {MPI_ERR_NO_MEM, "out of memory"};
    case ErrorKind::stream: return {MPI_ERR_OTHER, "the call cannot be ordered in the program's stream"};
    case ErrorKind::mapped:
    case ErrorKind::device: return {MPI_ERR_OTHER, "the GPU reported an error"};
    case ErrorKind::unsupported: return {MPI_ERR_TYPE, "neither TEMPI nor the MPI library handles this"};
    case ErrorKind::type: return {MPI_ERR_TYPE, "wrong datatype"};
    case ErrorKind::operation: return {MPI_ERR_OP, "wrong operation"};
    case ErrorKind::rank: return {MPI_ERR_RANK, "wrong rank"};
    case ErrorKind::truncation: return {MPI_ERR_TRUNCATE, "more data than the other end has room for"};
    case ErrorKind::range: return {MPI_ERR_RMA_RANGE, "an access beyond a window"};
    case ErrorKind::epoch: return {MPI_ERR_RMA_SYNC, "an access outside an epoch"};
    case ErrorKind::lost: return {MPI_ERR_OTHER, "a process has ended"};
    case ErrorKind::verification: return {MPI_ERR_INTERN, "TEMPI_VERIFY found wrong bytes"};
    case ErrorKind::unexpected: return {MPI_ERR_INTERN, "an unexpected error"};
    case ErrorKind::internal:
    case ErrorKind::count: break;
  }
  return {MPI_ERR_INTERN, "internal error"};
}

// The text returned by MPI_Error_string.
std::string text_of(const Error& error) {
  std::string text = std::string("TEMPI: ") + row_of(error.kind()).text + ": " + error.what();
  if (text.size() >= MPI_MAX_ERROR_STRING) text.resize(MPI_MAX_ERROR_STRING - 1);
  return text;
}

// One MPI error code for each kind, made at its first use, whose text is that of the last error of the kind.
int code_of(const Error& error) noexcept {
  static Mutex<Lock::error_codes> mutex;
  static std::array<int, static_cast<std::size_t>(ErrorKind::count)> codes{};
  const std::lock_guard lock(mutex);
  int& code = codes.at(static_cast<std::size_t>(error.kind()));
  if (code == 0) {
    const int mpi_class = row_of(error.kind()).mpi_class;
    if (real_pmpi().MPI_Add_error_code(mpi_class, &code) != MPI_SUCCESS) return mpi_class;
  }
  real_pmpi().MPI_Add_error_string(code, text_of(error).c_str());
  return code;
}

}  // namespace

int error_code(const Error& error) noexcept {
  log(LogLevel::error, error.what());
  return code_of(error);
}

int raise(Handle comm, const Error& error) noexcept { return raise(comm, error_code(error)); }

int raise(Handle comm, int code) noexcept {
  real_pmpi().MPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace tempi
