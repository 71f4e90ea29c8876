#include "device/fake/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "device/fake/shared_pages.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{64} << 30;  // address space; pages come with their first use
constexpr std::size_t kOrdinalBytes = kArenaBytes / kFakeOrdinals;
constexpr std::size_t kAlignment = 256;                      // as cudaMalloc
constexpr std::size_t kGuardBytes = 256;                     // on both sides of an allocation
constexpr std::size_t kMostFilled = std::size_t{64} << 20;   // filling more of a large one would cost real memory
constexpr std::size_t kHostGapBytes = std::size_t{2} << 20;  // memory of different kinds is never closer (places.cpp)
constexpr int kGuardFill = 0xA5;
constexpr int kFreedFill = 0xDB;
using Tag = std::uint64_t;  // the allocation's id, in the last bytes before it: other processes see that it is there

std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
std::size_t span_bytes(std::size_t bytes) { return padded(bytes) + 2 * kGuardBytes; }

void* allocate_on_host(std::size_t bytes) {
  void* begin = nullptr;
  if (::posix_memalign(&begin, kAlignment, bytes + 2 * kHostGapBytes) != 0)
    throw Error(ErrorKind::no_memory, "fake device: out of host memory");
  return static_cast<std::byte*>(begin) + kHostGapBytes;
}

FilePlace place_of(const SharedAllocation& allocation) {
  FilePlace place{};
  std::memcpy(&place, allocation.handle.data(), sizeof place);
  return place;
}

Tag tag_before(const std::byte* memory) {
  Tag tag = 0;
  std::memcpy(&tag, memory - sizeof tag, sizeof tag);
  return tag;
}

std::uintptr_t map_file(int file, int protection) {
  void* address = ::mmap(nullptr, kArenaBytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) throw Error(ErrorKind::no_memory, "fake device: mmap failed");
  ::madvise(address, kArenaBytes, MADV_DONTDUMP);
  return reinterpret_cast<std::uintptr_t>(address);
}

// A handle that the driver of a real GPU does not know, or takes for another one.
void check_handle(bool is_known) {
  if (is_known) return;
  warn_once("fake_handle", "fake device: memory is given back that is not there");
  std::abort();
}

}  // namespace

FakeMemory::FakeMemory() : library_reaches_(text(Option::CUDA_AWARE) == "1") {
  file_ = ::memfd_create("tempi_fake_device", MFD_CLOEXEC);
  if (file_ < 0 || ::ftruncate(file_, kArenaBytes) != 0)
    throw Error(ErrorKind::no_memory, "fake device: no memory file");
  shift_.begin = map_file(file_, library_reaches_ ? PROT_READ | PROT_WRITE : PROT_NONE);
  shift_.end = shift_.begin + kArenaBytes;
  shift_.shift = static_cast<std::ptrdiff_t>(map_file(file_, PROT_READ | PROT_WRITE) - shift_.begin);
  for (int ordinal = 0; ordinal < kFakeOrdinals; ++ordinal)
    free_[ordinal].give(shift_.begin + static_cast<std::size_t>(ordinal) * kOrdinalBytes, kOrdinalBytes);
}

void* FakeMemory::allocate(MemoryKind kind, int ordinal, std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* address = nullptr;
  if (kind == MemoryKind::device) {
    address = allocate_in_arena(ordinal, bytes);
  } else {
    address = allocate_on_host(bytes);
  }
  const Tag id = ++last_id_;
  allocations_[reinterpret_cast<std::uintptr_t>(address)] = {
      .bytes = bytes, .kind = kind, .ordinal = ordinal, .id = id};
  if (kind == MemoryKind::device)
    std::memcpy(alias(reinterpret_cast<std::uintptr_t>(address)) - sizeof id, &id, sizeof id);
  return address;
}

void FakeMemory::pin(int ordinal, void* pages, std::size_t bytes) {
  allocations_[reinterpret_cast<std::uintptr_t>(pages)] = {
      .bytes = bytes, .kind = MemoryKind::pinned, .ordinal = ordinal, .id = ++last_id_, .is_pinned = true};
}

void FakeMemory::unpin(void* pages) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(pages));
  check_handle(found != allocations_.end() && found->second.is_pinned);
  allocations_.erase(found);
}

void FakeMemory::end_context(int ordinal) {
  std::vector<std::uintptr_t> all;
  for (const auto& [begin, allocation] : allocations_) {
    if (allocation.ordinal == ordinal) all.push_back(begin);
  }
  for (const std::uintptr_t begin : all) {
    const Allocation& one = allocations_.at(begin);
    void* const address = reinterpret_cast<void*>(begin);
    if (one.is_mapped) unmap(begin);
    else if (one.is_pinned) unpin(address);
    else deallocate(address);
  }
  ++n_ended_[ordinal];
}

void FakeMemory::give_back(void* address) {
  check_handle(allocations_.contains(reinterpret_cast<std::uintptr_t>(address)));
  deallocate(address);
}

void FakeMemory::deallocate(void* address) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations_.end() || found->second.is_mapped || found->second.is_pinned) return;
  const auto [begin, allocation] = *found;
  allocations_.erase(found);
  if (allocation.kind == MemoryKind::device) {
    deallocate_in_arena(begin, allocation);
  } else {
    std::memset(address, kFreedFill, allocation.bytes);
    std::free(static_cast<std::byte*>(address) - kHostGapBytes);
  }
}

Location FakeMemory::locate(const void* address) const {
  const auto found = find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations_.end()) return {};
  const auto& [begin, allocation] = *found;
  return {allocation.kind, allocation.ordinal,       context(allocation.ordinal),
          begin,           begin + allocation.bytes, allocation.id};
}

AddressShift FakeMemory::shift(int ordinal) const {
  const std::uintptr_t begin = shift_.begin + static_cast<std::size_t>(ordinal) * kOrdinalBytes;
  return {begin, begin + kOrdinalBytes, shift_.shift};
}

bool FakeMemory::kernels_reach(int ordinal, std::uintptr_t address) const {
  const auto found = find(address);
  if (found == allocations_.end()) return false;
  if (!found->second.is_mapped) return found->second.kind != MemoryKind::device;
  return found->second.ordinal == ordinal && is_there_still(found->first);
}

// Bytes that are written into memory whose owner has freed it are lost on a real GPU.
bool FakeMemory::is_there_still(std::uintptr_t mapped) const {
  return tag_before(reinterpret_cast<const std::byte*>(mapped)) == mapped_.at(mapped).id;
}

std::optional<SharedAllocation> FakeMemory::share(std::uintptr_t begin) const {
  const auto found = allocations_.find(begin);
  if (found == allocations_.end() || !in_arena(begin)) return {};
  const auto& allocation = found->second;
  const FilePlace place = place_in(file_, begin - shift_.begin);
  SharedAllocation shared{.id = allocation.id, .begin = begin, .bytes = allocation.bytes};
  static_assert(sizeof place <= sizeof shared.handle);
  std::memcpy(shared.handle.data(), &place, sizeof place);
  shared.gpu.back() = static_cast<std::byte>(allocation.ordinal + 1);
  return shared;
}

// CUDA maps no memory that lies where another allocation was, while that is mapped.
std::uintptr_t FakeMemory::map(int ordinal, const SharedAllocation& allocation) {
  const FilePlace place = place_of(allocation);
  const auto is_in_its_way = [&](const auto& known) {
    const SharedAllocation& other = known.second;
    return other.id != allocation.id && place_of(other).inode == place.inode &&
           other.begin < allocation.begin + allocation.bytes && allocation.begin < other.begin + other.bytes;
  };
  if (std::any_of(mapped_.begin(), mapped_.end(), is_in_its_way))
    throw Error(ErrorKind::mapped, "fake device: an allocation that was there is still mapped");
  FilePlace with_tag = place;
  with_tag.offset -= sizeof(Tag);
  const std::uintptr_t address = map_place(with_tag, sizeof(Tag) + allocation.bytes) + sizeof(Tag);
  mapped_[address] = allocation;
  allocations_[address] = {
      .bytes = allocation.bytes, .kind = MemoryKind::device, .ordinal = ordinal, .id = ++last_id_, .is_mapped = true};
  if (!is_there_still(address)) {
    unmap(address);
    throw Error(ErrorKind::device, "fake device: the allocation has been freed");
  }
  return address;
}

void FakeMemory::unmap(std::uintptr_t address) {
  const auto found = allocations_.find(address);
  check_handle(found != allocations_.end() && found->second.is_mapped);
  unmap_place(address - sizeof(Tag), sizeof(Tag) + found->second.bytes);
  mapped_.erase(address);
  allocations_.erase(found);
}

bool FakeMemory::make_synchronous(const void* address) {
  const auto found = find(reinterpret_cast<std::uintptr_t>(address));
  return found != allocations_.end() && !std::exchange(allocations_.at(found->first).is_synchronous, true);
}

bool FakeMemory::is_synchronous(const void* address) const {
  const auto found = find(reinterpret_cast<std::uintptr_t>(address));
  return found != allocations_.end() && found->second.is_synchronous;
}

bool FakeMemory::can_copy(const void* dst, const void* src) const {
  const Location a = locate(dst), b = locate(src);
  return a.on_gpu() || b.on_gpu() || (a.gpu_reaches() && b.gpu_reaches());
}

bool FakeMemory::is_inside_allocation(std::uintptr_t address, std::size_t bytes) const {
  const auto found = find(address);
  return found != allocations_.end() && address - found->first + bytes <= found->second.bytes;
}

std::byte* FakeMemory::resolve(const void* pointer, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const bool is_device_memory = locate(pointer).kind == MemoryKind::device;
  if ((in_arena(address) || is_device_memory) && !is_inside_allocation(address, bytes))
    throw Error(ErrorKind::device, "fake device: illegal address");
  return in_arena(address) ? alias(address) : static_cast<std::byte*>(const_cast<void*>(pointer));
}

std::byte* FakeMemory::alias(std::uintptr_t address) const {
  return reinterpret_cast<std::byte*>(address + static_cast<std::uintptr_t>(shift_.shift));
}

// The allocation that contains `address`.
FakeMemory::Allocations::const_iterator FakeMemory::find(std::uintptr_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : allocations_.end();
}

void* FakeMemory::allocate_in_arena(int ordinal, std::size_t bytes) {
  const std::uintptr_t span = free_[ordinal].take(span_bytes(bytes));
  const std::uintptr_t address = span + kGuardBytes;
  std::memset(alias(span), kGuardFill, kGuardBytes);
  std::memset(alias(address + bytes), kGuardFill, padded(bytes) - bytes + kGuardBytes);
  return reinterpret_cast<void*>(address);
}

void FakeMemory::deallocate_in_arena(std::uintptr_t address, const Allocation& allocation) {
  check_guards(address, allocation);
  const std::size_t filled = std::min(allocation.bytes, kMostFilled);
  std::memset(alias(address) - sizeof(Tag), kFreedFill, sizeof(Tag) + filled);
  if (allocation.bytes > filled)
    ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(address + filled - shift_.begin),
                static_cast<off_t>(allocation.bytes - filled));
  free_[allocation.ordinal].give(address - kGuardBytes, span_bytes(allocation.bytes));
}

// Aborts: a kernel that writes outside of its memory is a bug that no test may miss.
void FakeMemory::check_guards(std::uintptr_t address, const Allocation& allocation) const {
  const auto intact = [this](std::uintptr_t begin, std::uintptr_t end) {
    return std::all_of(alias(begin), alias(end), [](std::byte value) { return value == std::byte{kGuardFill}; });
  };
  const std::uintptr_t end = address + allocation.bytes,
                       end_of_guard = address + padded(allocation.bytes) + kGuardBytes;
  const bool has_tag = tag_before(alias(address)) == allocation.id;
  if (has_tag && intact(address - kGuardBytes, address - sizeof(Tag)) && intact(end, end_of_guard)) return;
  warn_once("fake_guard", "fake device: a kernel wrote outside of an allocation");
  std::abort();
}

}  // namespace tempi::device
