// The arguments of enqueued calls (stream_comm.hpp), numbered, so that a call with the arguments of an earlier call is
// recognised.
#pragma once

#include <memory>
#include <unordered_map>

#include "call/call.hpp"
#include "device/device.hpp"
#include "types/types.hpp"

namespace tempi::message {

device::Location location_of(const void* address);
// The program has not freed the allocation.
bool exists(const device::Location& location);

// The buffer of a call. The program may free the datatype, so the object has a datatype of its own.
struct ArgumentSet {
  explicit ArgumentSet(const Buffer& its_buffer, const KnownType* type, const device::Location& its_location);
  ~ArgumentSet();
  ArgumentSet(const ArgumentSet&) = delete;
  ArgumentSet& operator=(const ArgumentSet&) = delete;

  // The same buffer, in the same allocation, with a datatype of the same layout.
  bool equals(const Buffer& its_buffer, const KnownType* type, const device::Location& its_location) const;
  bool has_buffer() const { return exists(at_); }  // the program has not freed it

  Buffer buffer;
  std::int64_t bytes = 0;
  std::uint32_t number = 0;
  bool is_busy = false;  // a call has it whose exchange is not queued yet

 private:
  const Handle program_type_;
  const bool is_named_;
  const pack::PreparedPtr prepared_;  // null: unknown, and the arguments equal no others
  const std::int64_t extent_;
  const device::Location at_;
};
using ArgumentSetPtr = std::shared_ptr<ArgumentSet>;

// The argument sets of one communicator.
class ArgumentSets {
 public:
  // One that is not busy, or a new one. It is busy now. A number is used once.
  ArgumentSetPtr take(const Buffer& buffer, bool& is_new);
  // Those whose buffer the program has freed. Other memory may lie at its address now.
  void forget_freed();
  void clear() { all_.clear(); }
  // How often sets were forgotten.
  std::uint32_t n_forgotten() const { return n_forgotten_; }

 private:
  static constexpr std::size_t kMost = 256;

  std::unordered_multimap<const void*, ArgumentSetPtr> all_;  // by the address of the buffer
  std::uint32_t n_made_ = 0, n_forgotten_ = 0;
};

}  // namespace tempi::message
