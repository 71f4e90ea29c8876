// The state behind cuda_driver.cpp: contexts, what belongs to them, and kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <vector>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "device/done.hpp"
#include "pack/kernels.hpp"

using namespace tempi;

namespace driver {

constexpr int kGpus = 2;
constexpr std::size_t kArenaBytes = std::size_t{1} << 30, kAlignment = 512;

[[noreturn]] inline void refuse(const char* what) {
  std::fprintf(stderr, "driver: %s\n", what);
  std::abort();
}

struct Context {
  int gpu = -1;
  std::uint64_t life = 0;  // 0: it has ended
  int n_retained = 0;      // of a primary one
};

enum class Kind : std::uint8_t { none, stream, event, module, function, graph, executable };

struct Object {
  Kind kind = Kind::none;
  Context* context = nullptr;
  std::uint64_t life = 0;
  const device::Kernel* kernel = nullptr;  // of a function, and of a graph
  std::vector<std::byte> params{};         // of a graph
  device::Done done{};
  device::Grid grid{};
};

struct Allocation {
  std::size_t bytes;
  bool is_device;
  Context* context;
  std::uint64_t id;
};

struct State {
  std::recursive_mutex mutex;
  std::array<Context, kGpus> primary{};
  std::array<Context, 16> created{};
  std::array<Object, 4096> objects{};
  std::map<std::uintptr_t, Allocation> allocations{};
  std::uintptr_t arena = reinterpret_cast<std::uintptr_t>(
      ::mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::uint64_t last_life = 0, last_id = 0;
};
inline State& state() {
  static auto& all = *new State;
  return all;
}
using Lock = std::lock_guard<std::recursive_mutex>;
#define LOCKED const Lock lock(state().mutex)

inline thread_local std::vector<Context*>* current_of_thread =
    nullptr;  // never freed: threads push contexts as they end
inline std::vector<Context*>& current() {
  if (current_of_thread == nullptr) current_of_thread = new std::vector<Context*>{nullptr};
  return *current_of_thread;
}

inline Context& living(CUcontext handle) {
  auto* const context = reinterpret_cast<Context*>(handle);
  if (context == nullptr || context->life == 0) refuse("a context that has ended is used");
  return *context;
}
inline Context& here() { return living(reinterpret_cast<CUcontext>(current().back())); }

inline void* make(Kind kind, const device::Kernel* kernel = nullptr) {
  Context& context = here();
  const auto is_free = [](const Object& one) { return one.kind == Kind::none; };
  const auto found = std::find_if(state().objects.begin(), state().objects.end(), is_free);
  if (found == state().objects.end()) refuse("too many objects");
  *found = {kind, &context, context.life, kernel};
  return &*found;
}
// In use with the legacy stream, too, which is the current context's.
inline Object* find(void* handle, Kind kind) {
  if (kind == Kind::stream && (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD))
    return static_cast<void>(here()), nullptr;
  auto* const object = static_cast<Object*>(handle);
  if (object->kind != kind || object->context->life != object->life) refuse("a handle of an ended context is used");
  return object;
}
inline void destroy(void* handle, Kind kind) { find(handle, kind)->kind = Kind::none; }

using Found = std::map<std::uintptr_t, Allocation>::iterator;
inline Found find(std::uintptr_t address) {
  auto& all = state().allocations;
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return all.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : all.end();
}

inline void remove(Found found) {
  if (found->second.is_device) std::memset(reinterpret_cast<void*>(found->first), 0xDB, found->second.bytes);
  state().allocations.erase(found);
}

inline void start(Context& context, int gpu) {
  context.gpu = gpu;
  context.life = ++state().last_life;
}
inline void end(Context& context) {
  for (auto one = state().allocations.begin(); one != state().allocations.end();) {
    const auto next = std::next(one);
    if (one->second.context == &context) remove(one);
    one = next;
  }
  for (Object& object : state().objects) {
    if (object.context == &context) object.kind = Kind::none;
  }
  context.life = 0;
}

// The lowest addresses that are free.
inline std::uintptr_t take(std::size_t bytes) {
  std::uintptr_t at = state().arena;
  for (const auto& [begin, allocation] : state().allocations) {
    if (!allocation.is_device) continue;
    if (begin >= at + bytes) break;
    at = begin + (allocation.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return at + bytes <= state().arena + kArenaBytes ? at : 0;
}

inline bool is_arena(std::uintptr_t address) { return address - state().arena < kArenaBytes; }

inline void check_kernel_address(std::uintptr_t address) {
  if (find(address) == state().allocations.end()) refuse("a kernel uses memory that no context holds");
}
inline void check_wide(std::uintptr_t address, std::size_t) { check_kernel_address(address); }

inline void run(const device::Kernel& kernel, device::Grid grid, const void* params, const device::Done& done) {
  const device::AddressShift shift{0, 0, 0, check_kernel_address, check_wide};
  std::vector<std::max_align_t> shared(kernel.shared_bytes / sizeof(std::max_align_t) + 1);
  auto* const memory = reinterpret_cast<std::byte*>(shared.data());
  for (std::uint32_t tile = 0; tile < grid.tiles; ++tile)
    for (int phase = 0; phase < kernel.phases; ++phase)
      for (std::uint32_t thread = 0; thread < grid.threads; ++thread)
        kernel.host_body(params, {tile, thread, grid.threads, phase, memory}, shift);
  if (done.flag != nullptr) *done.flag = 1;
}

inline const device::Kernel* kernel_named(const std::string& name) {
#define TEMPI_KERNEL(Params, depth, word)                                                \
  if (name == "tempi_" #Params "_" #depth "_" #word) {                                   \
    constexpr auto kDepth = pack::Depth::depth;                                          \
    if (std::string(#Params) == "OneBox") return &pack::kernel_of_one(kDepth, word);     \
    if (std::string(#Params) == "FewBoxes") return &pack::kernel_of_few(kDepth, word);   \
    if (std::string(#Params) == "ManyBoxes") return &pack::kernel_of_many(kDepth, word); \
    return &pack::kernel_of_aligned(kDepth, word);                                       \
  }
#define TEMPI_WINDOWED_KERNEL(form, word) \
  if (name == "tempi_windowed_" #form "_" #word) return &pack::windowed_kernel(pack::Form::form, word);
#include "pack/kernels.def"
  return nullptr;
}

inline void copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  for (const std::uintptr_t address : {to, from}) {
    if (is_arena(address)) check_kernel_address(address);
  }
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

template <class T>
inline void put(void* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

}  // namespace driver
