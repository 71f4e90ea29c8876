// The constructor of the chooser, its dlopen and its dlsym.
#include <atomic>
#include <climits>
#include <dlfcn.h>
#include <exception>
#include <link.h>
#include <string>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/abi.hpp"
#include "preload/by_handle.hpp"
#include "preload/driver_frees.hpp"
#include "preload/needed.hpp"
#include "preload/search.hpp"
#include "preload/start_again.hpp"

namespace tempi::preload {
namespace {

constexpr const char* kShimName = "libtempi.so";

void say(const std::string& what) {
  static std::atomic<bool> is_said{false};
  if (is_said.exchange(true)) return;
  const std::string line = "tempi: " + what + "; this process runs without libtempi.so\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

// ---- the shims beside this library

Dl_info own_file() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&own_file), &info);
  return info;
}

// The chooser's folder, as LD_PRELOAD names it. Found in the constructor: the program may leave its folder later.
const std::string& own_folder() {
  static const auto& folder = *new std::string([] {
    const std::string path = own_file().dli_fname;
    const std::string named = path.substr(0, path.rfind('/') + 1);
    char here[PATH_MAX];
    return named.starts_with('/') || ::getcwd(here, sizeof here) == nullptr ? named : here + ("/" + named);
  }());
  return folder;
}

// Empty, and said, if it is not there.
std::string shim_for(std::string_view abi) {
  const std::string path = own_folder() + std::string(abi) + "/" + kShimName;
  if (::access(path.c_str(), R_OK) == 0) return path;
  say("it uses an MPI library of the ABI " + std::string(abi) + ", and there is no " + path +
      " (install the wheel, or build for that MPI's mpicc: MPICC=... pip install .)");
  return "";
}

bool has_shim() { return next_dlsym()(RTLD_DEFAULT, "tempi_api") != nullptr; }

// ---- programs that are linked to MPI

struct Loaded {
  std::string_view abi{};          // of the first MPI library
  bool is_behind_chooser = false;  // which is preloaded, then; else it was opened in a running process
  bool has_passed_chooser = false;
};

int look_at(dl_phdr_info* info, std::size_t, void* result) {
  auto& loaded = *static_cast<Loaded*>(result);
  const auto* const own = static_cast<const ElfW(Ehdr)*>(own_file().dli_fbase);
  loaded.has_passed_chooser |= info->dlpi_addr == reinterpret_cast<ElfW(Addr)>(own);
  loaded.abi = abi_of_library(info->dlpi_name);
  loaded.is_behind_chooser = loaded.has_passed_chooser;
  return loaded.abi.empty() ? 0 : 1;
}

Loaded loaded_mpi() {
  Loaded loaded;
  ::dl_iterate_phdr(look_at, &loaded);
  return loaded;
}

std::atomic<bool> is_waiting{false};  // for a library that needs MPI

// The program's calls are bound to the MPI library by now: only a new start puts the shim before it.
void start(Start process) {
  own_folder();
  const Loaded mpi = loaded_mpi();
  is_waiting = mpi.abi.empty();
  if (mpi.abi.empty() || !mpi.is_behind_chooser || has_shim() || ::getauxval(AT_SECURE) != 0) return;
  const std::string shim = shim_for(mpi.abi);
  if (!shim.empty()) say("it cannot be started with " + shim + ": " + start_again(process, shim));
}

// ---- libraries that are opened later

using Dlopen = void* (*)(const char*, int) noexcept;

Dlopen next_dlopen() noexcept {
  static std::atomic<Dlopen> known{nullptr};
  if (known.load() == nullptr) known.store(reinterpret_cast<Dlopen>(next_dlsym()(RTLD_NEXT, "dlopen")));
  return known.load();
}

// An MPI library that is opened for the whole process binds all that follow, too. One that is missing does not: a
// program may try several.
std::string_view abi_to_come(const std::string& file, int mode, const void* caller) {
  const Folders run_path = run_path_at(caller);
  const std::string_view abi = (mode & RTLD_GLOBAL) != 0 ? abi_of_file(file, run_path) : "";
  if (!abi.empty() || is_loaded(file)) return abi;
  const NeededMpi mpi = mpi_needed_by(file, run_path);
  return mpi.is_there ? mpi.abi : "";
}

void load_shim(std::string_view abi) {
  const std::string shim = shim_for(abi);
  if (!shim.empty() && next_dlopen()(shim.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) say(::dlerror());
}

// A library's calls are bound when it is opened, to the first library that is open for the whole process. Threads that
// come here at once all open the shim, which the loader does once.
void prepare(const char* file, int mode, const void* caller) {
  if (has_shim()) {
    is_waiting = false;
    return;
  }
  const std::string_view abi = abi_to_come(file, mode, caller);
  if (abi.empty()) return;
  load_shim(abi);
  is_waiting = false;
}

// Functions of an MPI library that was opened for its opener alone.
void look_up(void* handle, const char* name, const void* caller, void** found) {
  const std::string_view abi = abi_by_handle(handle, caller);
  if (abi.empty()) return;
  if (abi == kElsewhere) return say(std::string(name) + " is looked up in an MPI library that was loaded with dlmopen");
  if (!has_shim()) load_shim(abi);
  *found = function_of_shim(handle, name);
}

// Errors of the chooser are printed and do not reach the program.
template <class... Arguments>
[[gnu::noinline]] void call_safely(void (*function)(Arguments...), Arguments... arguments) noexcept {
  try {
    function(arguments...);
  } catch (const std::exception& error) {
    say(error.what());
  }
}

[[gnu::noinline]] void* look_up_safely(void* handle, const char* name, const void* caller) noexcept {
  void* found = nullptr;
  call_safely(look_up, handle, name, caller, &found);
  return found;
}

[[gnu::constructor]] void construct(int, char** arguments, char** variables) {
  call_safely(start, Start{arguments, variables});
  ::dlerror();  // what was looked for in vain is not the program's error
}

}  // namespace
}  // namespace tempi::preload

constinit std::atomic<TempiAfterFree> tempi_after_free{nullptr};

// The last call must be a jump: the loader looks for the file as its caller says, and finds the caller by its address.
extern "C" [[gnu::visibility("default")]] void* dlopen(const char* file, int mode) noexcept {
  using namespace tempi::preload;
  const bool may_load = file != nullptr && (mode & RTLD_NOLOAD) == 0;
  if (may_load && is_waiting.load(std::memory_order_relaxed)) {
    call_safely(prepare, file, mode, static_cast<const void*>(__builtin_return_address(0)));
  }
  return next_dlopen()(file, mode);
}

// A jump, too.
extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  using namespace tempi::preload;
  if (may_be_by_handle(handle, name)) {
    if (void* const ours = look_up_safely(handle, name, __builtin_return_address(0))) return ours;
  } else if (may_be_of_driver(handle, name)) {
    if (void* const ours = driver_function(handle, name)) return ours;
  }
  return next_dlsym()(handle, name);
}
