// Reading and writing files (MPI-4.1, 14.4). The bytes of the file are those of the packed elements. The library needs
// the datatypes only if it converts the data (a data representation other than "native"). In this case it gets the
// datatypes of the program.
//
// A large access of a process alone goes in chunks (file_chunks.hpp).
//
// Before a read, TEMPI packs the buffer into the staging memory, so that the bytes beyond the end of the file do not
// change.
#pragma once

#include "collective/file_chunks.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

int move_file(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
              Library library) noexcept;

// The same for an access that this process may cut in chunks. `status`: the program's.
int move_in_parts(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
                  MPI_Status* status, PartLibrary library) noexcept;

// A nonblocking access that this process may cut in chunks. `offset`: none where the file pointer has it.
struct LaterFile {
  FileAccess file_access;
  std::optional<Offset> offset = {};
};
int move_later(const Call& call, LaterFile later, Handle file, const void* buffer, Count count, Handle type,
               Library library) noexcept;

// MPI_File_read_all_begin and similar functions. A file has at most one such call that is not ended.
int begin_split(Call call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
                Library library) noexcept;
// `library` is the function that ends the call, applied to the buffer with which the call began.
int end_split(Handle file, const void* buffer, FunctionRef<int(const void* buffer)> library) noexcept;

}  // namespace tempi::collective
