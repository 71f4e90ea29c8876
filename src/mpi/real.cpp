#include "mpi/real.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

#include "mpi_config.h"

namespace tempi {
namespace {

// Names under which MPI libraries are loaded, ours first.
constexpr const char* kLibraryNames[] = {
#if TEMPI_MPI_ABI_OPENMPI
    "libmpi.so.40",
#elif TEMPI_MPI_ABI_MPIABI
    "libmpi_abi.so.1", "libmpi_abi.so.0",
#endif
    "libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0",
};

std::mutex mutex;
std::atomic<void*> mpi_library{nullptr};  // scope of symbol lookups: RTLD_NEXT or a handle

// In a Python process the MPI library is loaded RTLD_LOCAL: RTLD_NEXT does not see it, its name finds it.
void* find_library() {
  if (dlsym(RTLD_NEXT, "MPI_Get_library_version") != nullptr) return RTLD_NEXT;
  for (const char* name : kLibraryNames) {
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

template <class Fn>
void find(Fn& function, void* library, const std::string& name) {
  function = reinterpret_cast<Fn>(dlsym(library, name.c_str()));
}

void fill(Real& real, void* library, const std::string& prefix) {
#define TEMPI_SIGNED(name, parameters) find(real.name, library, prefix + #name);
#define TEMPI_SIGNED_LARGE(name, parameters) find(real.name, library, prefix + #name);
#define TEMPI_PASSED_ON(name) find(real.name, library, prefix + #name);
#include "base/functions.def"
}

}  // namespace

std::atomic<const RealTables*> known_real_tables{nullptr};

const RealTables& find_real_tables() {
  const std::lock_guard lock(mutex);
  static RealTables found;
  if (known_real_tables.load() != nullptr) return found;
  void* library = find_library();
  if (library == nullptr) return found;  // no MPI library yet: look again at the next call
  fill(found.mpi, library, "");
  fill(found.pmpi, library, "P");
  mpi_library.store(library);
  known_real_tables.store(&found, std::memory_order_release);
  return found;
}

void* real_symbol(const char* name) {
  real_tables();
  void* library = mpi_library.load();
  return library ? dlsym(library, name) : nullptr;
}

std::string mpi_library_path() {
  Dl_info info{};
  void* symbol = real_symbol("MPI_Get_library_version");
  return symbol && dladdr(symbol, &info) ? info.dli_fname : "";
}

bool is_open_mpi() {
  std::array<char, 1 << 14> version{};  // the longest of all libraries; ours may not be the one loaded
  int length = 0;
  real_pmpi().MPI_Get_library_version(version.data(), &length);
  return std::strstr(version.data(), "Open MPI") != nullptr;
}

bool abi_matches() {
  if (real_pmpi().MPI_Get_library_version == nullptr) return false;
  const bool standard = mpi_library_path().find("libmpi_abi.so") != std::string::npos;  // whoever's
  if (standard || TEMPI_MPI_ABI_MPIABI) return standard && TEMPI_MPI_ABI_MPIABI;
  return is_open_mpi() == bool{TEMPI_MPI_ABI_OPENMPI};
}

#if TEMPI_MPI_ABI_OPENMPI
// A program linked against libmpi holds the variable itself (copy relocation): the symbol as seen from the program
// counts, and the library's own only if the program has none (Python).
static Handle variable(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Handle>(symbol ? symbol : real_symbol(name));
}

Handle comm_world() {
  static const Handle handle = variable("ompi_mpi_comm_world");
  return handle;
}

Handle comm_self() {
  static const Handle handle = variable("ompi_mpi_comm_self");
  return handle;
}

Handle comm_null() {
  static const Handle handle = variable("ompi_mpi_comm_null");
  return handle;
}

Handle type_byte() {
  static const Handle handle = variable("ompi_mpi_byte");
  return handle;
}

Handle type_packed() {
  static const Handle handle = variable("ompi_mpi_packed");
  return handle;
}

Handle request_null() {
  static const Handle handle = variable("ompi_request_null");
  return handle;
}

Handle info_null() {
  static const Handle handle = variable("ompi_mpi_info_null");
  return handle;
}

Handle errors_return() {
  static const Handle handle = variable("ompi_mpi_errors_return");
  return handle;
}

Handle message_null() {
  static const Handle handle = variable("ompi_message_null");
  return handle;
}

Handle message_no_proc() {
  static const Handle handle = variable("ompi_message_no_proc");
  return handle;
}
#else
// Ints or pointers, by ABI: only the C cast takes both.
Handle comm_world() { return (Handle)MPI_COMM_WORLD; }
Handle comm_self() { return (Handle)MPI_COMM_SELF; }
Handle comm_null() { return (Handle)MPI_COMM_NULL; }
Handle type_byte() { return (Handle)MPI_BYTE; }
Handle type_packed() { return (Handle)MPI_PACKED; }
Handle request_null() { return (Handle)MPI_REQUEST_NULL; }
Handle info_null() { return (Handle)MPI_INFO_NULL; }
Handle errors_return() { return (Handle)MPI_ERRORS_RETURN; }
Handle message_null() { return (Handle)MPI_MESSAGE_NULL; }
Handle message_no_proc() { return (Handle)MPI_MESSAGE_NO_PROC; }
#endif

}  // namespace tempi
