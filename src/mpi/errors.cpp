#include "mpi/errors.hpp"

#include <array>
#include <mutex>

#include "base/log.hpp"
#include "mpi/real.hpp"

namespace tempi {
namespace {

struct Row {
  int mpi_class;
  const char* text;
};

// The text that MPI_Error_string gives; the particulars are in the log.
Row row_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::no_memory:
      return {MPI_ERR_NO_MEM, "TEMPI: out of GPU or pinned memory (TEMPI_LOG=error says where)"};
    case ErrorKind::device: return {MPI_ERR_OTHER, "TEMPI: the GPU reported an error (TEMPI_LOG=error says which)"};
    case ErrorKind::unsupported:
      return {
          MPI_ERR_TYPE,
          "TEMPI: GPU memory that neither TEMPI nor the MPI library handles in this call (TEMPI_LOG=error says why)"};
    case ErrorKind::verification:
      return {MPI_ERR_INTERN, "TEMPI: TEMPI_VERIFY found wrong bytes (the difference is on standard error)"};
    case ErrorKind::internal: break;
  }
  return {MPI_ERR_INTERN, "TEMPI: internal error (TEMPI_LOG=error says which)"};
}

// One MPI error code for each kind, made at its first use.
int code_of(ErrorKind kind) noexcept {
  static std::mutex mutex;
  static std::array<int, 5> codes{};
  const Row row = row_of(kind);
  const std::lock_guard lock(mutex);
  int& code = codes.at(static_cast<std::size_t>(kind));
  if (code == 0) {
    code = row.mpi_class;
    if (real_pmpi().MPI_Add_error_code(row.mpi_class, &code) == MPI_SUCCESS) {
      real_pmpi().MPI_Add_error_string(code, row.text);
    }
  }
  return code;
}

}  // namespace

int error_code(const Error& error) noexcept {
  log(LogLevel::error, error.what());
  return code_of(error.kind());
}

int raise(Handle comm, const Error& error) noexcept { return raise(comm, error_code(error)); }

int raise(Handle comm, int code) noexcept {
  real_pmpi().MPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace tempi
