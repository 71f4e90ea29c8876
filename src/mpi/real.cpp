#include "mpi/real.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

#include "base/mutex.hpp"
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

Mutex<Lock::library_functions> mutex;
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
  function.set(dlsym(library, name.c_str()));
}

void fill(Real& real, void* library, const std::string& prefix) {
#define TEMPI_SIGNED(name, parameters) find(real.name, library, prefix + #name);
#define TEMPI_SIGNED_LARGE(name, parameters) find(real.name, library, prefix + #name);
#define TEMPI_PASSED_ON(name) find(real.name, library, prefix + #name);
#include "base/functions.def"
}

bool differ(const Real& mpi, const Real& pmpi) {
  bool found = false;
#define TEMPI_SIGNED(name, parameters) found |= !(mpi.name == pmpi.name);
#define TEMPI_SIGNED_LARGE(name, parameters) found |= !(mpi.name == pmpi.name);
#define TEMPI_PASSED_ON(name) found |= !(mpi.name == pmpi.name);
#include "base/functions.def"
  return found;
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
  found.have_tool = differ(found.mpi, found.pmpi);
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
Handle predefined(const char* variable) {
  void* symbol = dlsym(RTLD_DEFAULT, variable);
  return reinterpret_cast<Handle>(symbol ? symbol : real_symbol(variable));
}
#endif

Handle request_of_fortran(int request) {
#if TEMPI_MPI_ABI_OPENMPI
  constexpr const char* kConverts = "PMPI_Request_f2c";
#else
  constexpr const char* kConverts = "PMPI_Request_fromint";
#endif
  if constexpr (kHandlesAreInts) return static_cast<std::uint32_t>(request);
  static const auto converted = reinterpret_cast<Handle (*)(int)>(real_symbol(kConverts));
  return converted != nullptr ? converted(request) : request_null();
}

#define TEMPI_CONSTANT(function, constant, variable)                   \
  Handle function() {                                                  \
    static const Handle handle = TEMPI_PREDEFINED(constant, variable); \
    return handle;                                                     \
  }
TEMPI_CONSTANT(comm_world, MPI_COMM_WORLD, ompi_mpi_comm_world)
TEMPI_CONSTANT(comm_self, MPI_COMM_SELF, ompi_mpi_comm_self)
TEMPI_CONSTANT(comm_null, MPI_COMM_NULL, ompi_mpi_comm_null)
TEMPI_CONSTANT(type_byte, MPI_BYTE, ompi_mpi_byte)
TEMPI_CONSTANT(type_packed, MPI_PACKED, ompi_mpi_packed)
TEMPI_CONSTANT(request_null, MPI_REQUEST_NULL, ompi_request_null)
TEMPI_CONSTANT(file_null, MPI_FILE_NULL, ompi_mpi_file_null)
TEMPI_CONSTANT(info_null, MPI_INFO_NULL, ompi_mpi_info_null)
TEMPI_CONSTANT(errors_return, MPI_ERRORS_RETURN, ompi_mpi_errors_return)
TEMPI_CONSTANT(op_bitwise_and, MPI_BAND, ompi_mpi_op_band)
TEMPI_CONSTANT(op_no_op, MPI_NO_OP, ompi_mpi_op_no_op)
TEMPI_CONSTANT(op_replace, MPI_REPLACE, ompi_mpi_op_replace)
TEMPI_CONSTANT(message_null, MPI_MESSAGE_NULL, ompi_message_null)
TEMPI_CONSTANT(message_no_proc, MPI_MESSAGE_NO_PROC, ompi_message_no_proc)
#undef TEMPI_CONSTANT

}  // namespace tempi
