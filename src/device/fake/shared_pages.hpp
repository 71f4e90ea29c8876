// Pages of a memory file that several processes of one user map. A process describes a place in its file. Another
// process opens the file through /proc and maps the pages of this place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace tempi::device {

// A place in an open file of a process. Plain data.
struct FilePlace {
  pid_t process;
  int file;                     // its descriptor there
  std::uint64_t device, inode;  // identify the file, because the descriptor may be reused
  std::uint64_t offset;
};

FilePlace place_in(int file, std::uint64_t offset) noexcept;  // of a file of this process

// The address here of `bytes` at the place. The pages stay when the other process ends. Throws Error (device).
std::uintptr_t map_place(const FilePlace& place, std::size_t bytes);
void unmap_place(std::uintptr_t address, std::size_t bytes) noexcept;

}  // namespace tempi::device
