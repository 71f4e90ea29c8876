// The messages by which a process takes part in a collective call: at most one message to each
// process, and at most one from each process.
//
// All blocks for one process are joined to one message. Both ends join the datatypes of the blocks in the same order.
// If all buffers are in GPU memory, the schedule has persistent requests and may be repeated. Any other schedule is
// carried out once.
//
// Invariants
//   A schedule that is in progress, or that has failed, is not started again.
//   One thread may end a schedule while another thread checks whether the schedule fits its call. is_under_way_ tells
//   the second thread that the schedule is in use.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "call/call.hpp"
#include "collective/element_type.hpp"
#include "collective/schedule_steps.hpp"
#include "collective/sent_copy.hpp"
#include "request/stream_rounds.hpp"

namespace tempi::collective {

// The kinds of memory of one or more processes, joined by "or".
enum : unsigned { kOnGpu = 1, kNotDirect = 2, kOnHost = 4 };

// The path of a message that cannot be direct. ready: the message is packed into memory that was
// taken before the call. follows: TEMPI takes the memory only after it has found that the message was not
// direct, and sends the bytes in a second message. "follows" requires that all buffers of all
// processes are in GPU memory.
enum class Fallback : bool { ready, follows };

class Schedule final : public message::StreamRounds {
 public:
  // Makes no request yet. The messages use the communicator `comm` and this tag. `limit` is for the copy of the blocks
  // that are sent (sent_copy.hpp). Throws Refused.
  Schedule(const Real& real, Handle comm, Steps&& steps, device::Limit limit, int tag = kAnyCall);
  ~Schedule() override;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // The kinds of memory of this process. If bytes followed (Fallback::follows) in several consecutive calls, the kinds
  // of the next calls include kNotDirect.
  unsigned memory();
  std::int64_t bytes_sent() const;

  bool may_be_repeated() const { return is_all_on_gpu_ && !has_failed_; }
  // True: it may be kept for the next call. A large copy is not kept, because it would occupy GPU memory of the
  // program.
  bool may_be_kept() const { return may_be_repeated() && (!copy_ || copy_->bytes() <= kMostKeptBytes); }
  // True: a call with these steps can use the schedule. Checks that the buffers have not been freed.
  bool fits(const Steps& steps) const;
  // The functions below return the first code of the library that is not MPI_SUCCESS.

  // Complete on return.
  int carry_out(Fallback fallback);
  // Makes the requests. Without this call, start() makes them.
  int make();
  // Starts the messages.
  int start();
  // True: all messages are complete. With `waits`, it returns only then.
  bool has_ended(bool waits, int& code);

  // The functions of StreamRounds: the messages are one round, and no kernels are queued. make() must have been called.
  bool may_be_on_stream() const { return may_be_repeated() && is_made_ && !copy_; }
  std::size_t n_rounds() const override { return 1; }
  device::Context context() const override;
  std::vector<Handle> requests(std::size_t round) const override;
  const pack::TypedReduction* reduction_in(std::size_t) const override { return nullptr; }
  void queue_kernels(std::size_t, const device::Scope&, device::StreamHandle, bool) override {}

  // Tags. Each tag uses one match queue for each member (segment/segment.hpp).
  static constexpr int kAnyCall = 0, kFollowing = 1, kFirstOwn = 2, kOwnTags = 32, kFirstOfReductions = 34;

 private:
  static constexpr std::int64_t kMostKeptBytes = 16 << 20;

  struct Message {
    message::Envelope envelope;
    message::FoundEndpoint found;
    bool is_sent;
    pack::End end;
    bool is_looked_at;  // `found` is valid
    bool is_complete;
  };

  void add(const std::vector<Step>& steps, bool is_sent, const void* address);
  void add_message(const std::vector<Step>& all, int peer, bool is_sent, const void* address);
  message::Envelope joined(const std::vector<Step>& parts, bool is_sent, const void* address);
  void look(Message& message);
  int make(Message& message, void* request);
  int make_all();
  int start(Fallback fallback);
  int make_persistent(Message& message, message::Endpoints&& endpoints, void* request);
  int make_once(const message::Envelope& envelope, message::FoundEndpoint&& found, bool is_sent, void* request);
  void use(Fallback fallback);
  int let_follow();
  int wait_for(int n, void* requests) const;
  bool test(int& code);
  void give_up(int code) noexcept;
  bool was_direct(std::size_t i) const;
  void free_requests() noexcept;
  void* request(std::size_t i) { return requests_.data() + i * kRequestBytes; }
  Handle handle(std::size_t i) const { return load_handle(requests_.data() + i * kRequestBytes); }

  const Real& real_;
  const Handle comm_;
  const int tag_;
  Steps steps_;
  std::shared_ptr<SentCopy> copy_{};  // if received blocks overwrite the blocks that are sent
  std::vector<OwnTypePtr> joined_types_;
  std::vector<Message> messages_;  // received ones first
  std::vector<char> requests_;     // one for each message
  unsigned memory_ = 0;
  bool is_all_on_gpu_ = true, is_made_ = false;
  std::atomic<bool> is_under_way_{false}, has_failed_{false};
  int failure_ = MPI_SUCCESS;
  Fallback fallback_ = Fallback::ready;
  int n_followed_ = 0;  // consecutive calls in which bytes have followed
  int n_paused_ = 0;
};

}  // namespace tempi::collective
