// Fake device memory of one process, mapped by another: fake_shared CASE [ARGUMENT]... The owner and its child make
// their own fake devices after the fork. Prints what the owner sees, and how the child ended.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "../support/child.hpp"
#include "fake_program.hpp"

using namespace tempi::device;
using child::hear, child::tell;

namespace {

constexpr std::size_t kBytes = 10000;

// A kernel that writes one word.
struct Words {
  std::uintptr_t address;
  std::uint32_t value, bytes;
};
void write_word(const void* params, KernelThread, const AddressShift& shift) {
  const Words& words = *static_cast<const Words*>(params);
  std::uintptr_t address = words.address;
  if (address >= shift.begin && address < shift.end) address += static_cast<std::uintptr_t>(shift.shift);
  else shift.outside(address);
  std::memcpy(reinterpret_cast<void*>(address), &words.value, words.bytes);
}
const Kernel kWriteWord{"write_word", 32, sizeof(Words), write_word};

void launch(const Scope& here, Words words) {
  here.launch(kWriteWord, {1, 1}, &words);
  here.finish();
}

template <class Maps>
const char* outcome_of(const Maps& maps) {
  try {
    maps();
    return "done";
  } catch (const tempi::Error& error) {
    return error.kind() == tempi::ErrorKind::device ? "failed" : "another error";
  }
}

SharedAllocation shared(void* address) { return *fake_device()->share(fake_device()->locate(address)); }

void* zeros(int ordinal) {
  void* const address = fake_allocate(MemoryKind::device, ordinal, kBytes);
  const std::string bytes(kBytes, 0);
  fake_copy(address, bytes.data(), kBytes);
  return address;
}

unsigned at(const void* address, std::size_t offset) {
  unsigned char byte = 0;
  fake_copy(&byte, static_cast<const char*>(address) + offset, 1);
  return byte;
}

void say_end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("child ended by %s\n", strsignal(WTERMSIG(status)));
  else std::printf("child returned %d\n", WEXITSTATUS(status));
}

// ---- cases: of the child, then of the owner

void map_and_write(int ordinal) {
  const Scope here(*fake_device(), fake_device()->primary(ordinal));
  const std::uintptr_t memory = here.map(hear<SharedAllocation>());
  const Location found = fake_device()->locate(reinterpret_cast<void*>(memory + 1));
  auto* const bytes = static_cast<char*>(fake_allocate(MemoryKind::pinned, ordinal, 2));
  std::memcpy(bytes, "cc", 2);
  here.copy(reinterpret_cast<void*>(memory + kBytes - 2), bytes, 2);
  launch(here, {memory, 0x6b6b6b6b, 4});
  const bool is_right = found.ordinal == ordinal && found.begin == memory && found.end == memory + kBytes &&
                        !fake_device()->share(found).has_value();
  here.unmap(memory);
  tell(is_right);
}
void see_writes(int ordinal) {
  void* const memory = zeros(ordinal);
  tell(shared(memory));
  std::printf("located %d: ", hear<bool>());
  for (const std::size_t offset : {0ul, 3ul, 4ul, kBytes - 3, kBytes - 2, kBytes - 1})
    std::printf("%02x ", at(memory, offset));
  fake_deallocate(memory);  // aborts if a guard is gone
  std::printf("freed, ");
}

void write_at(std::size_t offset, int bytes, int ordinal) {
  Device& device = *fake_device();
  const Context context = device.primary(0);
  std::uintptr_t memory = 0;
  {
    const Scope here(device, context);
    memory = here.map(hear<SharedAllocation>());
  }
  const Scope other(device, device.primary(ordinal));
  launch(other, {memory + offset, 0, static_cast<std::uint32_t>(bytes)});
}
void share_and_free() {
  void* const memory = zeros(0);
  tell(shared(memory));
  child::hear_its_end();
  fake_deallocate(memory);
}

void try_copies() {
  const Scope here(*fake_device(), fake_device()->primary(0));
  const std::uintptr_t memory = here.map(hear<SharedAllocation>());
  void* const bytes = fake_allocate(MemoryKind::pinned, 0, 8);
  for (const std::size_t offset : {kBytes - 8, kBytes - 7})
    std::printf("%s ", outcome_of([&] { here.copy(reinterpret_cast<void*>(memory + offset), bytes, 8); }));
  std::fflush(stdout);
}

void try_to_map() {
  const Scope here(*fake_device(), fake_device()->primary(0));
  auto allocation = hear<SharedAllocation>();
  for (int i = 0; i < 2; ++i) std::printf("%s ", outcome_of([&] { here.map(allocation); }));
  for (auto& byte : allocation.handle) byte ^= std::byte{1};  // another process or file
  std::printf("%s ", outcome_of([&] { here.map(allocation); }));
  std::fflush(stdout);
}
void try_to_share() {
  void* const memory = zeros(0);
  const Location location = fake_device()->locate(memory);
  const bool first = fake_device()->share(location).has_value(), second = fake_device()->share(location).has_value();
  const Location pinned = fake_device()->locate(fake_allocate(MemoryKind::pinned, 0, 8));
  std::printf("shared %d %d pinned %d ", first, second, fake_device()->share(pinned).has_value());
  const Scope here(*fake_device(), fake_device()->primary(0));
  std::printf("own %s ", outcome_of([&] { here.map(shared(memory)); }));
  std::fflush(stdout);
  tell(shared(memory));
}

void write_late() {
  const Scope here(*fake_device(), fake_device()->primary(0));
  const auto allocation = hear<SharedAllocation>();
  const std::uintptr_t memory = here.map(allocation);
  tell(true);
  hear<bool>();
  std::printf("mapped again: %s, ", outcome_of([&] { here.map(allocation); }));
  std::fflush(stdout);
  auto* const seen = static_cast<unsigned char*>(fake_allocate(MemoryKind::pinned, 0, 1));
  here.copy(seen, reinterpret_cast<void*>(memory), 1);
  here.finish();
  tell(static_cast<int>(*seen));
  hear<bool>();
  launch(here, {memory, 0x6c6c6c6c, 4});  // aborts
}
void free_early() {
  void* const memory = zeros(0);
  const SharedAllocation before = shared(memory);
  tell(before);
  hear<bool>();
  fake_deallocate(memory);
  tell(true);
  std::printf("freed memory %02x, ", hear<int>());
  void* const again = zeros(0);
  std::printf("same address %d, new id %d, ", again == memory, shared(again).id > before.id);
  tell(true);
}

std::pair<std::ptrdiff_t, std::ptrdiff_t> mappings_and_files() {
  std::ifstream maps("/proc/self/maps");
  const auto lines = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return {lines, std::distance(begin(files), end(files))};
}
void map_often() {
  const Scope here(*fake_device(), fake_device()->primary(0));
  const auto allocation = hear<SharedAllocation>();
  const std::uintptr_t first = here.map(allocation);
  const auto before = mappings_and_files();
  for (int i = 0; i < 1000; ++i) here.unmap(here.map(allocation));
  launch(here, {first, 0x6d6d6d6d, 4});  // the first mapping is still there
  const auto after = mappings_and_files();
  const bool is_same =
      after.first < before.first + 100 && after.second == before.second;  // a sanitizer maps some itself
  here.unmap(first);
  tell(is_same);
}
void count_mappings() {
  void* const memory = zeros(0);
  tell(shared(memory));
  const bool is_same = hear<bool>();
  std::printf("%s, %02x, ", is_same ? "no leak" : "leak", at(memory, 0));
}

void share_and_end() { tell(shared(zeros(0))); }
void map_what_is_left(pid_t child) {
  const auto allocation = hear<SharedAllocation>();
  say_end_of(child);
  const Scope here(*fake_device(), fake_device()->primary(0));
  std::printf("mapping %s\n", outcome_of([&] { here.map(allocation); }));
}

}  // namespace

int main(int count, char** words) {
  const std::string test = words[1];
  const auto number = [&](int i) { return i < count ? std::atol(words[i]) : 0; };
  const pid_t child = child::connected_fork();
  if (child == 0) {
    if (test == "writes") map_and_write(static_cast<int>(number(3)));
    if (test == "word")
      write_at(static_cast<std::size_t>(number(2)), static_cast<int>(number(3)), static_cast<int>(number(4)));
    if (test == "copies") try_copies();
    if (test == "failures") try_to_map();
    if (test == "freed") write_late();
    if (test == "often") map_often();
    if (test == "ended") share_and_end();
    return 0;
  }
  if (test == "ended") return map_what_is_left(child), 0;
  if (test == "writes") see_writes(static_cast<int>(number(2)));
  if (test == "word" || test == "copies") share_and_free();
  if (test == "failures") try_to_share();
  if (test == "freed") free_early();
  if (test == "often") count_mappings();
  say_end_of(child);
  return 0;
}
