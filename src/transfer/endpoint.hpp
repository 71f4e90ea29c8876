// From the arguments of a message to one of its endpoints, for the strategies.
#pragma once

#include <optional>

#include "base/counters.hpp"
#include "mpi/real.hpp"
#include "transfer/packed_buffer.hpp"
#include "types/types.hpp"

namespace tempi::message {

// One buffer of a point-to-point call.
struct Buffer {
  Function function;
  pack::Direction direction;  // pack: it is sent
  const void* address;
  Count count;
  Handle datatype;
  Handle comm;
};

// The fast check for messages that the library handles. True: certainly handled by the library. False: find_endpoint
// decides.
bool belongs_to_library(const Buffer& buffer, int peer) noexcept;

// No endpoint: the library handles the call, or this buffer of it. A refusal: the code of the library, which has called
// the error handler.
struct FoundEndpoint {
  std::optional<Endpoint> endpoint;
  std::optional<int> refusal{};
};
// `peer` is the rank at the other end, negative for any. With MPI_PROC_NULL no buffer is touched.
FoundEndpoint find_endpoint(const Buffer& buffer, int peer);

// Into the report and the timeline: a call whose message travels by `strategy`.
void count_endpoint(const Buffer& buffer, int peer, const KnownType& type, Strategy strategy, bool on_gpu);

// An option passes messages to the library.
bool is_switched_off() noexcept;

// The library's error code if it refuses the datatype (not committed, ...) or the communicator. Touches no buffer.
std::optional<int> find_refusal(Handle datatype, Handle comm) noexcept;

// The datatype of packed bytes in a call: MPI_PACKED, which may match any datatype; or a derived type of it for more
// than INT_MAX bytes, or for a packed buffer with a separate last byte (PackedBuffer::sets_last_byte_apart).
class PackedType {
 public:
  explicit PackedType(std::int64_t bytes);
  explicit PackedType(const PackedBuffer& packed_buffer);
  ~PackedType();
  PackedType(const PackedType&) = delete;
  PackedType& operator=(const PackedType&) = delete;
  int count() const { return count_; }
  Handle type() const { return type_; }

 private:
  void join(int count, Handle type, int bytes, Aint displacement);

  int count_;
  Handle type_;
  bool is_own_ = false;
};

}  // namespace tempi::message
