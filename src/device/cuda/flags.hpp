// Flags in host memory. The launches of a queue set them when they have ended (device/done.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/cuda/life.hpp"
#include "device/device.hpp"
#include "device/done.hpp"

namespace tempi::device {

inline constexpr std::size_t kFlags = 16;

// The flags of one queue. The object is never freed, because marks may outlive the queue. Any
// thread may call is_done() and check(). Only the thread of the queue may call the other functions.
class Flags {
 public:
  // Takes memory in the current context. Null: there is none.
  static Flags* make(const CudaDriver& driver, Life& life, CUstream stream) noexcept;

  Done done(std::size_t i) const;
  // True if no running launch reports its end by this flag.
  bool is_free(std::size_t i) const;
  // Call it before a launch with done(i). Returns the number of the launch.
  std::uint64_t arm(std::size_t i);

  // True: the launch with this number is done.
  bool is_done(std::size_t i, std::uint64_t number) const;
  // Throws Error (device) if the work of the context has failed, or if the context has ended. In
  // both cases its flags will not be set.
  void check() const;

 private:
  Flags(const CudaDriver& driver, Life& life, CUstream stream);
  static constexpr std::size_t kApart = 16;  // words: a cache line
  std::uint32_t& word(std::size_t i) const { return words_[i * kApart]; }

  const CudaDriver& driver_;
  Life& life_;
  std::uint32_t* words_ = nullptr;
  CUdeviceptr counts_ = 0;
  CUevent reached_ = nullptr;  // a query of it fails if work of the context has failed
  std::array<std::atomic<std::uint64_t>, kFlags> numbers_{};
};

// A launch that reports its end by a flag. Without `flags`, the launch does not report its end.
struct Told {
  Flags* flags = nullptr;
  std::size_t i = 0;
  std::uint64_t number = 0;

  explicit operator bool() const { return flags != nullptr; }
  bool is_done() const { return flags->is_done(i, number); }
  void wait() const;  // throws Error (device)
};
MarkPtr mark_of(const Told& told);

}  // namespace tempi::device
