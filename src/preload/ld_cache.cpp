#include "preload/ld_cache.hpp"

#include <cstdint>

#include "preload/mapped_file.hpp"

namespace tempi::preload {
namespace {

// glibc's format since 2.2, alone in the file since 2.32.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct Header {
  char magic[kMagic.size()];
  std::uint32_t n_libraries, string_bytes;
  std::uint32_t unused[5];
};
struct Library {
  std::int32_t flags;
  std::uint32_t name, path;  // where their text begins in the file
  std::uint32_t unused;
  std::uint64_t hwcap;
};
static_assert(sizeof(Header) == 48 && sizeof(Library) == 24);

}  // namespace

std::vector<std::string> cached_paths(std::string_view name, const char* path) {
  std::vector<std::string> paths;
  const MappedFile file(path);
  const auto header = file.at<Header>(0);
  if (!header || std::string_view(header->magic, sizeof header->magic) != kMagic) return {};
  for (std::size_t i = 0; i < header->n_libraries; ++i) {
    const auto library = file.at<Library>(sizeof(Header) + i * sizeof(Library));
    if (!library) return paths;
    if (file.text(library->name) == name) paths.emplace_back(file.text(library->path));
  }
  return paths;
}

}  // namespace tempi::preload
