// The memory of the fake device.
//
// Device memory is one sparse memory file, mapped twice at a constant distance. Programs hold
// addresses of the first mapping. CPU code that accesses this mapping crashes, as on a real GPU,
// also in the MPI library. (With TEMPI_CUDA_AWARE=1, CPU code may access it.) Kernels and copies of
// the fake device add the distance and use the second mapping. Pinned and managed memory are
// ordinary memory that is registered here.
//
// Memory of another process is mapped once, without protection. Kernels and copies use its address without a shift. The
// process aborts if they leave the allocation, and if a kernel uses memory that its owner has freed.
#pragma once

#include <map>

#include "device/device.hpp"
#include "device/fake/free_spans.hpp"

namespace tempi::device {

inline constexpr int kFakeOrdinals = 2;

// A context is a number, made from the ordinal of its GPU and the number of earlier contexts of
// this GPU.
inline constexpr std::uintptr_t kMostFakeOrdinals = 256;
inline Context fake_context(int ordinal, std::uintptr_t n_ended) {
  return reinterpret_cast<Context>(n_ended * kMostFakeOrdinals + static_cast<std::uintptr_t>(ordinal) + 1);
}
inline int fake_ordinal(Context context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) % kMostFakeOrdinals) - 1;
}

// Not thread-safe: the fake device calls it under its mutex.
class FakeMemory {
 public:
  FakeMemory();  // throws Error no_memory when the system refuses the mappings

  Context context(int ordinal) const { return fake_context(ordinal, n_ended_[ordinal]); }  // now
  // Ends the context of this GPU, with all its memory. The next context may use the same addresses.
  void end_context(int ordinal);

  void* allocate(MemoryKind kind, int ordinal, std::size_t bytes);
  void pin(int ordinal, void* pages, std::size_t bytes);  // pages of staging (host_pages.hpp), which stay the caller's
  void unpin(void* pages);                                // aborts where nothing is pinned
  void deallocate(void* address);  // fills the memory with 0xDB; aborts when a kernel wrote around the allocation
  void give_back(void* address);   // the same; aborts if there is no memory at the address

  Location locate(const void* address) const;
  bool library_reaches() const { return library_reaches_; }  // device memory
  AddressShift shift(int ordinal) const;  // for kernels of this GPU: they reach its own device memory
  // True for pinned and managed memory, and for memory of another process that is mapped for this GPU and not freed.
  bool kernels_reach(int ordinal, std::uintptr_t address) const;
  bool is_inside_allocation(std::uintptr_t address, std::size_t bytes) const;

  std::optional<SharedAllocation> share(std::uintptr_t begin) const;    // empty: no device memory of this process
  std::uintptr_t map(int ordinal, const SharedAllocation& allocation);  // for one GPU; throws Error (device)
  void unmap(std::uintptr_t address);                                   // aborts where nothing is mapped

  // As CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: the program's copies into this allocation return when they are done.
  bool make_synchronous(const void* address);  // false: it already was
  bool is_synchronous(const void* address) const;

  bool can_copy(const void* dst, const void* src) const;  // the rule of Device::copy

  // The address that the CPU may use for [address, address + bytes). Throws Error device for an address of device
  // memory that is not inside one allocation.
  std::byte* resolve(const void* address, std::size_t bytes) const;

 private:
  struct Allocation {
    std::size_t bytes;
    MemoryKind kind;
    int ordinal;
    std::uint64_t id;
    bool is_mapped = false;  // of another process
    bool is_pinned = false;  // by pin(): the caller owns the pages
    bool is_synchronous = false;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;  // by the first address

  void* allocate_in_arena(int ordinal, std::size_t bytes);
  void deallocate_in_arena(std::uintptr_t address, const Allocation& allocation);
  void check_guards(std::uintptr_t address, const Allocation& allocation) const;
  bool is_there_still(std::uintptr_t mapped) const;
  bool in_arena(std::uintptr_t address) const { return address >= shift_.begin && address < shift_.end; }
  std::byte* alias(std::uintptr_t address) const;
  Allocations::const_iterator find(std::uintptr_t address) const;

  const bool library_reaches_;
  AddressShift shift_;
  int file_ = -1;
  std::uint64_t last_id_ = 0;
  Allocations allocations_;
  std::map<std::uintptr_t, SharedAllocation> mapped_;  // of other processes, by the address here
  FreeSpans free_[kFakeOrdinals];
  std::uintptr_t n_ended_[kFakeOrdinals]{};  // contexts
};

}  // namespace tempi::device
