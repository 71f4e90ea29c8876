#include "device/fake/shared_pages.hpp"

#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/page.hpp"

namespace tempi::device {
namespace {

// Bytes from the page's first one. An address of a mapping has the same as its place in the file.
std::uint64_t in_page(std::uint64_t position) { return position % kPageBytes; }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

bool is_file_of(int file, const FilePlace& place) {
  struct stat found{};
  return ::fstat(file, &found) == 0 && found.st_dev == place.device && found.st_ino == place.inode;
}

}  // namespace

FilePlace place_in(int file, std::uint64_t offset) noexcept {
  struct stat found{};
  ::fstat(file, &found);
  return {::getpid(), file, found.st_dev, found.st_ino, offset};
}

std::uintptr_t map_place(const FilePlace& place, std::size_t bytes) {
  if (place.process == ::getpid())
    throw Error(ErrorKind::device, "fake device: CUDA maps no memory of the process itself");
  const std::string path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.file);
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!is_file_of(file.number(), place))
    throw Error(ErrorKind::device, "fake device: process " + std::to_string(place.process) + " has no such memory");
  const std::uint64_t before = in_page(place.offset);
  void* const pages = ::mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.number(),
                             static_cast<off_t>(place.offset - before));
  if (pages == MAP_FAILED) throw Error(ErrorKind::device, "fake device: mapping memory of another process failed");
  return reinterpret_cast<std::uintptr_t>(pages) + before;
}

void unmap_place(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uint64_t before = in_page(address);
  ::munmap(reinterpret_cast<void*>(address - before), before + bytes);
}

}  // namespace tempi::device
