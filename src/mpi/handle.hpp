// MPI handles as plain values that are wide enough for every ABI, and the few constants that TEMPI needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <mpi.h>

#include "mpi_config.h"

namespace tempi {

// A handle as an argument. If MPI handles are ints, its upper half is undefined: compare handles by
// key_of().
using Handle = std::uintptr_t;
using Count = std::int64_t;
using Aint = std::int64_t;
using Offset = std::int64_t;  // in a file
inline constexpr std::size_t kRequestBytes = sizeof(MPI_Request);
static_assert(sizeof(MPI_Count) == sizeof(Count) && sizeof(MPI_Aint) == sizeof(Aint) &&
              sizeof(MPI_Offset) == sizeof(Offset));

inline constexpr bool kHandlesAreInts = sizeof(MPI_Datatype) == sizeof(int);

inline Handle key_of(Handle handle) { return kHandlesAreInts ? static_cast<std::uint32_t>(handle) : handle; }

inline Handle load_handle(const void* address) {
  if constexpr (kHandlesAreInts) return *static_cast<const std::uint32_t*>(address);
  return *static_cast<const Handle*>(address);
}

inline void store_handle(void* address, Handle handle) {
  std::memcpy(address, &handle, kHandlesAreInts ? sizeof(int) : sizeof handle);  // little-endian
}

inline MPI_Datatype as_datatype(Handle handle) {
  MPI_Datatype datatype;
  std::memcpy(&datatype, &handle, sizeof datatype);  // little-endian: an int is the lower half
  return datatype;
}

// TEMPI_PREDEFINED(MPI_COMM_WORLD, ompi_mpi_comm_world): a predefined handle. In Open MPI it is the
// address of a variable of libmpi. The shim must not depend on this variable when it is loaded. In
// other libraries it is an int or a pointer, and only a C cast converts both.
#if TEMPI_MPI_ABI_OPENMPI
#define TEMPI_PREDEFINED(constant, variable) ::tempi::predefined(#variable)
Handle predefined(const char* variable);  // 0: there is none
#else
#define TEMPI_PREDEFINED(constant, variable) (::tempi::Handle)(constant)
#endif

// The request of a Fortran program.
Handle request_of_fortran(int request);

Handle comm_world();
Handle comm_self();
Handle comm_null();
Handle type_byte();
Handle type_packed();
Handle request_null();
Handle file_null();
Handle info_null();
Handle errors_return();
Handle op_bitwise_and();
Handle op_no_op();
Handle op_replace();
Handle message_null();
Handle message_no_proc();

// True for MPI_REQUEST_NULL.
inline bool is_null(Handle request) { return key_of(request) == key_of(request_null()); }

// True if a call that returned `code` made this request, which was null before. If the program's error handler returns,
// MPICH reports success of a failed call but makes no request; Open MPI makes one in some failed calls.
inline bool is_made(int code, Handle request) { return code == MPI_SUCCESS && !is_null(request); }

}  // namespace tempi
