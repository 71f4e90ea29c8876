// GPU memory of one process, mapped by another through device.hpp: gpu_shared OWNER MAPPER, the ordinals of their GPUs.
// Prints what the owner sees. Its kernel image is PTX, so that neither nvcc nor the shim is needed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/child.hpp"
#include "device/cuda/cuda.hpp"

using namespace tempi::device;
using child::hear, child::tell;

extern "C" const unsigned char tempi_kernel_image[] = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .entry write_word(.param .align 8 .b8 words[16]) {
  .reg .b64 %address;
  .reg .b32 %value;
  ld.param.u64 %address, [words];
  ld.param.u32 %value, [words+8];
  st.u32 [%address], %value;
  ret;
}
)";

const char* tempi::device::name(MemoryKind) { return ""; }  // device.cpp has it, which needs a configured build

namespace {

constexpr std::size_t kBytes = 1000;  // the driver cuts several of them out of one block

struct Words {
  std::uintptr_t address;
  std::uint32_t value;
};
const Kernel kWriteWord{"write_word", 32, sizeof(Words), nullptr};

Device& device() {
  ::dlopen("libcuda.so.1", RTLD_NOW);
  return *cuda_device();
}

void write_word(const Scope& here, std::uintptr_t address, const char* word) {
  Words words{address, 0};
  std::memcpy(&words.value, word, sizeof words.value);
  here.launch(kWriteWord, {1, 1}, &words);
  here.finish();
}

std::string read_word(const Scope& here, const void* address) {
  char word[4] = {};
  here.copy(word, address, sizeof word);
  here.finish();
  return {word, sizeof word};
}

void map_and_write(int ordinal) {
  Device& gpu = device();
  const Scope here(gpu, gpu.primary(ordinal));
  const std::uintptr_t first = here.map(hear<SharedAllocation>());
  const auto allocation = hear<SharedAllocation>();
  const std::uintptr_t second = here.map(allocation), again = here.map(allocation);
  write_word(here, first, "kern");
  here.copy(reinterpret_cast<void*>(first + kBytes - 4), "copy", 4);
  here.finish();
  const Location found = gpu.locate(reinterpret_cast<void*>(second + 8));
  const bool is_located = found.ordinal == ordinal && found.begin == second && found.end == second + kBytes;
  here.unmap(first);  // of the same block
  here.unmap(again);
  write_word(here, second, "late");
  here.unmap(second);
  tell(is_located);
}

// Memory that `allocate` makes is refused.
template <class Allocate, class... Arguments>
bool is_refused(const char* allocate, Arguments... arguments) {
  std::uintptr_t address = 0;
  const auto function = reinterpret_cast<Allocate>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), allocate));
  if (function(&address, kBytes, arguments...) != 0) return false;
  return !device().share(device().locate(reinterpret_cast<void*>(address))).has_value();
}

void see_writes(int ordinal) {
  Device& gpu = device();
  const Scope here(gpu, gpu.primary(ordinal));
  const auto shared = [&](const void* address) { return *gpu.share(gpu.locate(address)); };
  char* const first = static_cast<char*>(here.allocate(kBytes));
  char* const second = static_cast<char*>(here.allocate(kBytes));
  tell(shared(first + 10));
  tell(shared(second));
  std::printf("located %d: ", hear<bool>());
  for (const char* address : {first, first + kBytes - 4, second}) std::printf("%s ", read_word(here, address).c_str());
  const SharedAllocation before = shared(first);
  here.deallocate(first);
  void* const next = here.allocate(kBytes);
  std::printf("same address %d, new id %d, ", next == first, shared(next).id != before.id);
  std::printf("refused %d ", is_refused<int (*)(std::uintptr_t*, std::size_t, unsigned)>("cuMemAllocManaged", 1u));
  std::printf("%d, ", is_refused<int (*)(std::uintptr_t*, std::size_t, void*)>("cuMemAllocAsync", nullptr));
  std::printf("reaches itself %d\n", gpu.reaches(ordinal, ordinal));
}

}  // namespace

int main(int, char** words) {
  const pid_t child = child::connected_fork();  // before CUDA, which does not survive it
  if (child == 0) return map_and_write(std::atoi(words[2])), 0;
  see_writes(std::atoi(words[1]));
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
