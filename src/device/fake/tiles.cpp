#include "device/fake/tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/log.hpp"

namespace tempi::device {
namespace {

// Shared memory of a tile; fill() poisons it, so that reads of unwritten words are found out.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : words_((bytes + sizeof(Word) - 1) / sizeof(Word)) {}
  void fill() {
    for (Word& word : words_) std::memset(&word, 0xDB, sizeof word);
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };
  std::vector<Word> words_;
};

// Memory and GPU of the kernel that runs.
const FakeMemory* memory_in_use = nullptr;
int ordinal_in_use = -1;

// Aborts: a kernel that uses other memory is a bug that no test may miss.
void outside_device_memory(std::uintptr_t address) {
  if (memory_in_use->kernels_reach(ordinal_in_use, address)) return;
  warn_once("fake_reach", "fake device: a kernel used memory that its GPU does not reach");
  std::abort();
}

void check_wide_access(std::uintptr_t address, std::size_t bytes) {
  if (memory_in_use->is_inside_allocation(address, bytes)) return;
  warn_once("fake_wide", "fake device: a kernel read beyond an allocation");
  std::abort();
}

// Tiles run in any order on a GPU; a kernel that depends on one is found out.
std::vector<std::uint32_t> shuffled(std::uint32_t n, std::mt19937& random) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

void run_tiles(const Kernel& kernel, Grid grid, const void* params, const AddressShift& shift, std::mt19937& random) {
  SharedMemory shared(kernel.shared_bytes);
  for (const std::uint32_t tile : shuffled(grid.tiles, random)) {
    shared.fill();
    for (int phase = 0; phase < kernel.phases; ++phase)
      for (std::uint32_t thread = 0; thread < grid.threads; ++thread)
        kernel.host_body(params, {tile, thread, grid.threads, phase, shared.data()}, shift);
  }
}

}  // namespace

bool run_kernel(const Kernel& kernel, Grid grid, const void* params, int ordinal, const FakeMemory& memory,
                std::mt19937& random) {
  memory_in_use = &memory;
  ordinal_in_use = ordinal;
  AddressShift shift = memory.shift(ordinal);
  shift.outside = outside_device_memory;
  shift.wide = check_wide_access;
  if (kernel.host_attempt != nullptr) return kernel.host_attempt(params, shift);
  run_tiles(kernel, grid, params, shift, random);
  return true;
}

}  // namespace tempi::device
