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

// Of one queue, and never freed: marks may outlive it. All else is for the thread of the queue.
class Flags {
 public:
  // In the current context; null: there is no memory.
  static Flags* make(const CudaDriver& driver, Life& life, CUstream stream) noexcept;

  Done done(std::size_t i) const;
  // True if no running launch reports its end by this flag.
  bool is_free(std::size_t i) const;
  // Before a launch with done(i): its number.
  std::uint64_t arm(std::size_t i);

  // For any thread: true if the launch with this number is done.
  bool is_done(std::size_t i, std::uint64_t number) const;
  // Throws Error (device) if the work of the context has failed, or it has ended: its flags will not be set.
  void check() const;

 private:
  Flags(const CudaDriver& driver, Life& life, CUstream stream);
  static constexpr std::size_t kApart = 16;  // words: a cache line
  std::uint32_t& word(std::size_t i) const { return words_[i * kApart]; }

  const CudaDriver& driver_;
  Life& life_;
  std::uint32_t* words_ = nullptr;
  CUdeviceptr counts_ = 0;
  CUevent reached_ = nullptr;  // a query tells of failed work
  std::array<std::atomic<std::uint64_t>, kFlags> numbers_{};
};

// A launch that tells its end; without flags: it does not.
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
