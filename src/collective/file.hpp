// MPI-4.1, 14.4: reading and writing files. The file's bytes are those of the packed elements: datatypes matter to the
// library only where it converts (a data representation other than "native"), and then it gets them as the program made
// them.
//
// A read stages the buffer's bytes before the call: those behind the end of the file stay as they are.
#pragma once

#include "collective/run.hpp"

namespace tempi::collective {

enum class FileAccess : bool { read, write };

int move_file(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
              Library library) noexcept;

// MPI_File_read_all_begin and its relatives: at most one such call a file is under way.
int begin_split(Call call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
                Library library) noexcept;
// `library` is the function that ends it, over the buffer that it began with.
int end_split(Handle file, const void* buffer, FunctionRef<int(const void* buffer)> library) noexcept;

}  // namespace tempi::collective
