#include "device/fake/fake.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "device/fake/fake_device.hpp"
#include "device/fake/tiles.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kMostParamBytes = 32764;  // of a CUDA kernel

// The queues that this thread has entered, innermost last.
struct Entered {
  std::array<QueueKey, 16> queues{};
  std::size_t depth = 0;
};
thread_local Entered entered;

}  // namespace

const QueueKey& own_queue() {
  if (entered.depth == 0) throw Error(ErrorKind::device, "fake device: no context is entered");
  return entered.queues[entered.depth - 1];
}

void Fake::enter(const QueueKey& queue) {
  const std::lock_guard lock(mutex_);
  if (!lives(queue.context)) throw Error(ErrorKind::device, "fake device: no such context, or it has ended");
  if (entered.depth == entered.queues.size()) throw Error(ErrorKind::internal, "fake device: entered too deep");
  entered.queues[entered.depth++] = queue;
}

void Fake::leave(Context) noexcept { --entered.depth; }

// The caller holds the mutex.
void Fake::pause() {
  mutex_.unlock();
  std::this_thread::yield();
  mutex_.lock();
}

// Work that another process waits for, or that waits for it, goes on while this process does something else.
void Fake::run_in_background() {
  static constexpr std::chrono::microseconds kBetweenPolls{50};
  if (std::exchange(has_thread_, true)) return;
  std::thread([this] {
    for (;; std::this_thread::sleep_for(kBetweenPolls)) {
      const std::lock_guard lock(mutex_);
      queues_.poll();
    }
  }).detach();
}

void Fake::launch(const Kernel& kernel, Grid grid, const void* params) {
  if (grid.tiles == 0 || grid.threads == 0 || grid.threads > kernel.most_threads ||
      kernel.param_bytes > kMostParamBytes)
    throw Error(ErrorKind::device, "fake device: a GPU refuses to launch this");
  const auto* first = static_cast<const std::byte*>(params);
  const std::lock_guard lock(mutex_);
  check_failed(own_queue().context);
  failures_.pass("launch", ErrorKind::device);
  if (kernel.host_attempt != nullptr) run_in_background();
  const int ordinal = fake_ordinal(current_context());
  // operator new aligns the copy to 16 bytes, the largest alignment of a parameter struct.
  queues_.add(own_queue(),
              [this, kernel, grid, ordinal, copied = std::vector<std::byte>(first, first + kernel.param_bytes)] {
                if (kernel.host_attempt == nullptr) failures_.is_due("run");
                return run_kernel(kernel, grid, copied.data(), ordinal, memory_, queues_.random());
              });
}

void Fake::copy(void* dst, const void* src, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  check_failed(own_queue().context);
  failures_.pass("copy", ErrorKind::device);
  if (!memory_.can_copy(dst, src)) throw Error(ErrorKind::device, "fake device: a GPU does not copy between these");
  std::byte* to = memory_.resolve(dst, bytes);
  const std::byte* from = memory_.resolve(src, bytes);
  const bool flips = failures_.is_due("flip");
  queues_.add(own_queue(), done_at_once([=] {
                std::memmove(to, from, bytes);
                if (flips && bytes > 0) to[bytes / 2] ^= std::byte{1};
              }));
}

void Fake::write_word(std::uint64_t* word, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  failures_.pass("write", ErrorKind::device);
  check_failed(own_queue().context);
  if (!memory_.kernels_reach(fake_ordinal(current_context()), reinterpret_cast<std::uintptr_t>(word)))
    throw Error(ErrorKind::device, "fake device: a GPU does not reach this word");
  run_in_background();
  queues_.add(own_queue(), done_at_once([=] { std::atomic_ref(*word).store(value, std::memory_order_release); }));
}

namespace {

class FakeMark final : public Mark {
 public:
  FakeMark(Fake& fake, QueueKey queue, ProgressPtr progress)
      : fake_(fake), queue_(std::move(queue)), progress_(std::move(progress)), is_in_place_(InPlaceOfStream::lives()) {}
  ~FakeMark() override {
    if (is_in_place_) fake_.end_mark_in_place(queue_.context);
  }
  FakeMark(const FakeMark&) = delete;
  FakeMark& operator=(const FakeMark&) = delete;
  bool reached() override { return fake_.poll(*progress_, queue_, false); }
  void wait() override { fake_.poll(*progress_, queue_, true); }
  const ProgressPtr& progress() const { return progress_; }

 private:
  Fake& fake_;
  QueueKey queue_;
  ProgressPtr progress_;
  const bool is_in_place_;
};

}  // namespace

MarkPtr Fake::mark() {
  const std::lock_guard lock(mutex_);
  check_capture(!queues_.is_captured(own_queue()));
  check_failed(own_queue().context);
  if (InPlaceOfStream::lives()) {
    if (n_in_place_[current_context()] == n_prepared_[current_context()])
      throw Error(ErrorKind::internal, "fake device: more marks in place of a stream than were prepared");
    ++n_in_place_[current_context()];
  }
  return std::make_shared<FakeMark>(*this, own_queue(), queues_.add_mark(own_queue()));
}

void Fake::wait_for(const Mark& mark) {
  const std::lock_guard lock(mutex_);
  check_capture(!queues_.is_captured(own_queue()));
  check_failed(own_queue().context);
  queues_.add(own_queue(), done_at_once([] {}), static_cast<const FakeMark&>(mark).progress());
}

// A failed wait or query drops the queue's remaining work, as a lost GPU does.
void Fake::pass_look(const char* name, const QueueKey& queue) {
  try {
    failures_.pass(name, ErrorKind::device);
  } catch (...) {
    queues_.drop(queue);
    throw;
  }
}

// Queries a mark once, or until it is reached.
bool Fake::poll(const Progress& progress, const QueueKey& queue, bool waits) {
  const std::lock_guard lock(mutex_);
  pass_look(waits ? "finish" : "query", queue);
  do {
    if (progress.state == Progress::ahead) queues_.poll();
  } while (waits && progress.state == Progress::ahead);
  if (progress.state == Progress::lost) throw Error(ErrorKind::device, "fake device: the work before a mark was lost");
  return progress.state == Progress::reached;
}

void Fake::finish() {
  const std::lock_guard lock(mutex_);
  const QueueKey own = own_queue();
  check_capture(!queues_.is_captured(own));
  pass_look("finish", own);
  queues_.finish(own);
  check_failed(own.context);
  if (queues_.take_loss(own)) throw Error(ErrorKind::device, "fake device: the work before a mark was lost");
}

// Never destroyed: destructors of the program may still free fake memory at exit.
Fake* the_fake() noexcept {
  static Fake* const fake = []() noexcept -> Fake* {
    try {
      return new Fake;
    } catch (const std::exception& error) {
      warn_once("fake_device", error.what());
      return nullptr;
    }
  }();
  return fake;
}

Device* fake_device() noexcept { return the_fake(); }

}  // namespace tempi::device
