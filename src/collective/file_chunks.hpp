// Large independent accesses of a file with a buffer in GPU memory, in chunks of TEMPI_FILE_CHUNK bytes. Each chunk
// is a call of the library. While the library writes one chunk, a GPU packs the next one. While the library reads
// one chunk, a GPU unpacks the previous one.
//
// Only an access that the standard lets a process carry out in pieces is cut: not a collective one (each process has
// its own number of chunks), not by the shared file pointer, not in atomic mode, and only where a piece of the packed
// bytes is a piece of the file (the data representation "native", whole etypes).
#pragma once

#include "collective/cut_access.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

// Null: the access is not for chunks, or there is no memory for them. Throws Error.
std::unique_ptr<CutAccess> cut(const Call& call, FileAccess file_access, Handle file, const Argument& buffer);

// A blocking access. Empty: it is not for chunks, and nothing is done.
std::optional<int> move_in_chunks(const Call& call, FileAccess file_access, Handle file, const Argument& buffer,
                                  MPI_Status* status, PartLibrary library) noexcept;

// A nonblocking one. Without an offset, the file pointer has it.
std::optional<int> begin_in_chunks(const Call& call, FileAccess file_access, Handle file, std::optional<Offset> offset,
                                   const Argument& buffer) noexcept;

}  // namespace tempi::collective
