// The order between MPI calls and the work that the program has queued in its streams.
//
// The queues of TEMPI are non-blocking streams. Neither CUDA nor cuda/order.hpp (synchronous copies only) orders them
// after a stream of the program. Therefore, a program must synchronise before each call, unless it names its streams
// here: one stream for all calls of a thread (set_stream, TEMPI_STREAM), and the streams of single arrays
// (wait_for_array).
//
// Glossary
//   the thread's stream  calls on GPU memory start after its earlier work, and its later work starts after them
//   earlier work         the work that the thread's stream and the streams of arrays hold when a call is made
//
// By default, `Device::locate` waits for earlier work, unless the memory is pageable. This is right for code that
// passes memory to the CPU, to the MPI library or to other processes. Code that queues work on a GPU holds an
// OrderedByMarks while it locates the memory, and lets its queue wait (Earlier::hold_back).
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "device/device.hpp"

namespace tempi::device {

// The handle value for "the thread has no stream". (Null is the legacy default stream of CUDA.)
inline const StreamHandle kNoStream = reinterpret_cast<StreamHandle>(~std::uintptr_t{0});

// True: the handle names a default stream, which each context has.
bool is_default_stream(StreamHandle handle) noexcept;

// Set and get the stream of the calling thread. set_stream() throws Error (stream) if the handle is not a stream.
// `device` may be null.
void set_stream(Device* device, StreamHandle handle);
StreamHandle stream() noexcept;

// The thread's stream, for calls on this memory. Empty: the thread has no stream. Throws Error (stream) if the context
// of the stream has ended, or if the stream belongs to another GPU than the memory.
std::optional<ProgramStream> stream_for(Device& device, const Location& location);

// Later calls of this thread start after the work that the stream has now. The GPU waits for this work, the CPU does
// not. Throws Error.
void wait_for_array(Device& device, const Location& location, StreamHandle handle);

// While it lives, Device::locate() does not wait for earlier work.
class OrderedByMarks {
 public:
  OrderedByMarks() noexcept;
  ~OrderedByMarks();
  OrderedByMarks(const OrderedByMarks&) = delete;
  OrderedByMarks& operator=(const OrderedByMarks&) = delete;

 private:
  const bool is_needed_;
};

// Some stream of the program waits, or has waited, for MPI calls by a thread of TEMPI.
inline std::atomic<bool> streams_wait_for_calls{false};

// While it exists, this thread makes calls on behalf of a stream of the program, which waits for
// them. These calls wait neither for the program's streams nor for its copies, because that would
// be a deadlock.
class InPlaceOfStream {
 public:
  InPlaceOfStream() noexcept;
  ~InPlaceOfStream();
  InPlaceOfStream(const InPlaceOfStream&) = delete;
  InPlaceOfStream& operator=(const InPlaceOfStream&) = delete;
  static bool lives() noexcept;  // in this thread
};

// Earlier work, as marks. Any thread may use them.
class Earlier {
 public:
  Earlier() = default;
  // The earlier work for calls of this thread on this memory. Throws Error (stream), also if a graph is captured from
  // the thread's stream.
  static Earlier now(Device& device, const Location& location);

  bool any() const { return !marks_.empty(); }
  void hold_back(const Scope& here) const;  // work that is queued in it from now on starts after the marks
  void wait() const;                        // by the CPU

 private:
  friend Earlier earlier_of_arrays();

  std::vector<MarkPtr> marks_{};
};

// The work that the streams of arrays hold, without the thread's stream.
Earlier earlier_of_arrays();

// Waits for earlier work, unless the memory is pageable. Throws Error (stream), or the error of the work.
void finish_earlier(Device& device, const Location& location);
// The same for memory that is not known.
void finish_earlier(Device* device);

// Device::locate() cannot throw. This function throws the first failure of a wait in locate() since its last call.
void throw_failed_wait();

}  // namespace tempi::device
