// From the arguments of a call to an endpoint, which has the strategy of the message.
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

// A buffer of a call with the rank at its other end.
struct Envelope {
  Buffer buffer;
  int peer;  // negative: any
  int tag;
  bool is_matched = false;  // a matched probe has matched the message; the transports know it
};

// The fast check for messages that the library handles. True: the library handles the message. False: find_endpoint()
// decides.
bool belongs_to_library(const Buffer& buffer, int peer) noexcept;

// No endpoint: the library handles the call, or this buffer of the call. `refusal`: the library refuses the arguments;
// it has called the error handler, and this is its code.
struct FoundEndpoint {
  std::optional<Endpoint> endpoint;
  std::optional<int> refusal{};
};
// `peer` is the rank at the other end, negative for any. With MPI_PROC_NULL no buffer is touched.
FoundEndpoint find_endpoint(const Buffer& buffer, int peer);

// Adds a call whose message uses `strategy` to the report and to the timeline.
void count_endpoint(const Buffer& buffer, int peer, const KnownType& type, Strategy strategy, bool on_gpu);

// True: an option passes all messages to the library.
bool is_switched_off() noexcept;

// The library's error code if it refuses the datatype (not committed, ...) or the communicator. Accesses no buffer.
std::optional<int> find_refusal(Handle datatype, Handle comm) noexcept;

// False: the library refuses a message with these arguments. It asks the library once for each communicator
// (peer::knows).
bool is_valid(Handle comm, Handle datatype) noexcept;

// The datatype of packed bytes in a call: MPI_PACKED, which may match any datatype. It is a derived datatype of
// MPI_PACKED in two cases: for more than INT_MAX bytes, and for a packed buffer with a separate last byte
// (PackedBuffer::sets_last_byte_apart).
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
