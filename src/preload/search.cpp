#include "preload/search.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <new>

#include "preload/ld_cache.hpp"

namespace tempi::preload {
namespace {

// The folders of LD_LIBRARY_PATH and of the system.
Folders folders_of_process() {
  Folders folders;
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (program == nullptr || ::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* const found = new (memory.data()) Dl_serinfo(size);
  if (::dlinfo(program, RTLD_DI_SERINFO, found) != 0) return {};
  for (unsigned i = 0; i < found->dls_cnt; ++i) folders.emplace_back(found->dls_serpath[i].dls_name);
  return folders;
}

// The loader goes on behind a file that it refuses.
std::optional<Found> first_of(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (auto dynamic = read_dynamic(path)) return Found{path, std::move(*dynamic)};
  }
  return {};
}

}  // namespace

std::optional<Found> find_library(const std::string& file, const Folders& run_path) {
  if (file.find('/') != std::string::npos) return first_of({file});
  std::vector<std::string> paths;
  for (const Folders& folders : {run_path, folders_of_process()}) {
    for (const std::string& folder : folders) paths.push_back(folder + "/" + file);
  }
  if (auto found = first_of(paths)) return found;
  return first_of(cached_paths(file));
}

Folders run_path_at(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) return {};
  const char* const path = info.dli_fname[0] != '\0' ? info.dli_fname : "/proc/self/exe";
  auto dynamic = read_dynamic(path);
  return dynamic ? std::move(dynamic->run_path) : Folders{};
}

bool is_loaded(const std::string& library) {
  void* const found = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

}  // namespace tempi::preload
