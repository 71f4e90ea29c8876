// The view of a file, as far as an access needs it, and the position of its individual file pointer.
#pragma once

#include "mpi/handle.hpp"

namespace tempi::collective {

struct FileView {
  bool is_native = false;  // the bytes of the file are those of memory
  Count etype_bytes = 0;   // offsets are counted in these; 0: not known
};
FileView view_of(Handle file);

// False for MPI_FILE_NULL and a file with MPI_MODE_SEQUENTIAL: a question about offsets would call an error handler.
bool has_offsets(Handle file);

// True, or not known: an access must be one call of the library.
bool is_atomic(Handle file);

// In etypes.
Offset position_of(Handle file);
void set_position(Handle file, Offset position);

}  // namespace tempi::collective
