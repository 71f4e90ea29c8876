// The fake device: the class behind fake.hpp.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "device/fake/failures.hpp"
#include "device/fake/memory.hpp"
#include "device/fake/queues.hpp"
#include "device/stream_order.hpp"

namespace tempi::device {

// Handles of streams.
inline constexpr std::uintptr_t kLegacy = 1, kPerThread = 2, kFirstStream = 0x1000;

inline StreamHandle as_handle(std::uintptr_t number) { return reinterpret_cast<StreamHandle>(number); }
inline bool is_default(StreamHandle stream) { return reinterpret_cast<std::uintptr_t>(stream) <= kPerThread; }

// The queue of a stream of the program. Null and 1 are the legacy stream.
inline QueueKey queue_of(StreamHandle stream, Context context) {
  const bool is_of_thread = stream == as_handle(kPerThread);
  const auto thread = is_of_thread ? std::this_thread::get_id() : std::thread::id();
  return {thread, context, Lane::first, stream == nullptr ? as_handle(kLegacy) : stream};
}

const QueueKey& own_queue();  // the queue that this thread has entered last
inline Context current_context() { return own_queue().context; }

class Fake final : public Device {
 public:
  Fake() : failures_(text(Option::FAKE_FAIL)), queues_(number(Option::FAKE_SEED), [this] { pause(); }) {}

  std::string name() const override { return "fake"; }

  bool exists(const Location& known) noexcept override {
    const std::lock_guard lock(mutex_);
    return memory_.locate(reinterpret_cast<const void*>(known.begin)) == known;
  }

  Facts facts() noexcept override { return {"fake", kFakeOrdinals, "fake"}; }
  Context primary(int ordinal) override {
    const std::lock_guard lock(mutex_);
    return memory_.context(ordinal);
  }
  Context program_context() noexcept override { return primary(0); }
  bool has_ended(Context context) noexcept override {
    const std::lock_guard lock(mutex_);
    return !lives(context);
  }
  bool has_failed(Context context) noexcept override {
    const std::lock_guard lock(mutex_);
    return lives(context) && queues_.has_failed(context);
  }
  std::shared_ptr<const void> prepare_in_place(Context context, std::size_t marks) override {
    const std::lock_guard lock(mutex_);
    n_prepared_[context] += marks;
    return {this, [this, context, marks](const void*) {
              const std::lock_guard at_its_end(mutex_);
              n_prepared_[context] -= marks;
            }};
  }
  bool reaches(int, int) noexcept override { return true; }
  bool has_atomics(const Location&, const SharedAllocation&) noexcept override { return true; }
  bool waits_hold_gpu() const noexcept override { return false; }
  ProgramStream program_stream(StreamHandle handle) override {
    const std::lock_guard lock(mutex_);
    if (is_default(handle)) return {handle, nullptr};
    return {handle, context_of(handle)};
  }
  bool poll(const Progress& progress, const QueueKey& queue, bool waits);
  void end_mark_in_place(Context context) {
    const std::lock_guard lock(mutex_);
    --n_in_place_[context];
  }

  std::optional<SharedAllocation> share(const Location& location) noexcept override {
    const std::lock_guard lock(mutex_);
    if (failures_.is_due("share")) return {};
    return memory_.share(location.begin);
  }

  void* allocate_for_program(MemoryKind kind, int ordinal, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return memory_.allocate(kind, ordinal, bytes);
  }
  void copy_for_program(void* dst, const void* src, std::size_t bytes);
  void release_for_program(void* address) {
    const std::lock_guard lock(mutex_);
    finish_legacy_queues();
    queues_.finish_streams();  // as cudaFree does
    memory_.deallocate(address);
  }
  void end_context_for_program(int ordinal) {
    const std::lock_guard lock(mutex_);
    queues_.drop_all(memory_.context(ordinal));
    memory_.end_context(ordinal);
  }
  std::size_t unfinished() {
    const std::lock_guard lock(mutex_);
    finish_legacy_queues();
    return queues_.unfinished();
  }

  StreamHandle create_stream(int ordinal) {
    const std::lock_guard lock(mutex_);
    const StreamHandle made = as_handle(kFirstStream + 16 * ++n_streams_);
    streams_[made] = memory_.context(ordinal);
    return made;
  }
  void destroy_stream(StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    queues_.finish(queue_at(stream));  // CUDA returns at once, and does the work
    streams_.erase(stream);
  }
  void copy_in_stream(void* dst, const void* src, std::size_t bytes, StreamHandle stream);
  void fill_in_stream(void* dst, int value, std::size_t bytes, StreamHandle stream);
  void synchronize(StreamHandle stream);
  void fail_in_stream(StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    queues_.add_failure(queue_at(stream));
    run_in_background();
  }
  void begin_capture(StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    queues_.begin_capture(queue_at(stream));
  }
  std::vector<FakeQueues::Effect> end_capture(StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    check_capture(queues_.is_captured(queue_at(stream)));
    return queues_.end_capture(queue_at(stream));
  }
  void launch_graph(const std::vector<FakeQueues::Effect>& graph, StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    check_failed(queue_at(stream).context);
    for (const FakeQueues::Effect& effect : graph) queues_.add(queue_at(stream), effect);
  }

 private:
  Location find(const void* address) noexcept override {
    const std::lock_guard lock(mutex_);
    const Location found = memory_.locate(address);
    if (found.on_gpu() && !InPlaceOfStream::lives() && memory_.make_synchronous(address)) finish_legacy_queues();
    return found;
  }
  void enter(Context context, Lane lane) override { enter({std::this_thread::get_id(), context, lane, nullptr}); }
  void enter_stream(Context context, StreamHandle stream) override {
    if (!is_default(stream) && program_stream(stream).context != context)
      throw Error(ErrorKind::device, "fake device: a stream of another context");
    enter(queue_of(stream, context));
  }
  void enter(const QueueKey& queue);
  void leave(Context) noexcept override;

  void launch(const Kernel& kernel, Grid grid, const void* params) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void write_word(std::uint64_t* word, std::uint64_t value) override;
  void finish() override;
  MarkPtr mark() override;
  void wait_for(const Mark& mark) override;
  bool is_capturing() override {
    const std::lock_guard lock(mutex_);
    return queues_.is_captured(own_queue());
  }

  void keep_with_graph(std::shared_ptr<const void> object) override {
    const std::lock_guard lock(mutex_);
    queues_.add(own_queue(), done_at_once([object = std::move(object)] {}));
  }

  void* allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    check_failed(current_context());
    failures_.pass("allocate", ErrorKind::no_memory);
    return memory_.allocate(MemoryKind::device, fake_ordinal(current_context()), bytes);
  }
  void deallocate(void* address) noexcept override {
    const std::lock_guard lock(mutex_);
    memory_.give_back(address);
  }
  void pin(void* pages, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    check_failed(current_context());
    failures_.pass("pinned", ErrorKind::no_memory);
    memory_.pin(fake_ordinal(current_context()), pages, bytes);
  }
  void unpin(void* pages) noexcept override {
    const std::lock_guard lock(mutex_);
    memory_.unpin(pages);
  }
  std::uintptr_t map(const SharedAllocation& allocation) override {
    const std::lock_guard lock(mutex_);
    check_failed(current_context());
    failures_.pass("map", ErrorKind::device);
    return memory_.map(fake_ordinal(current_context()), allocation);
  }
  void unmap(std::uintptr_t address) noexcept override {
    failures_.pause("unmap");
    const std::lock_guard lock(mutex_);
    memory_.unmap(address);
  }

  // The caller holds the mutex.
  bool lives(Context context) const {
    const int ordinal = fake_ordinal(context);
    return ordinal >= 0 && ordinal < kFakeOrdinals && context == memory_.context(ordinal);
  }
  Context context_of(StreamHandle stream) const {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) throw Error(ErrorKind::stream, "fake device: no such stream");
    return found->second;
  }
  QueueKey queue_at(StreamHandle stream) const {
    return queue_of(stream, is_default(stream) ? memory_.context(0) : context_of(stream));
  }
  // In CUDA, a call that is not allowed during a capture breaks the capture.
  static void check_capture(bool is_allowed) {
    if (!is_allowed) throw Error(ErrorKind::device, "fake device: not allowed while a graph is captured");
  }
  // CUDA refuses all later work of a context in which a kernel has failed.
  void check_failed(Context context) const {
    if (queues_.has_failed(context)) throw Error(ErrorKind::device, "fake device: a kernel of the program has failed");
  }
  // The queue also holds the program's synchronous copies that have returned early (fake_copy), as
  // the legacy stream of CUDA does.
  QueueKey legacy_queue(int ordinal) const { return queue_of(nullptr, memory_.context(ordinal)); }
  void finish_legacy_queues() {
    for (int ordinal = 0; ordinal < kFakeOrdinals; ++ordinal) queues_.finish(legacy_queue(ordinal));
  }
  void pass_look(const char* name, const QueueKey& queue);
  void run_in_background();
  void pause();

  Mutex<Lock::fake_device> mutex_;
  FakeMemory memory_;
  Failures failures_;
  FakeQueues queues_;
  std::map<StreamHandle, Context> streams_;  // of the program
  std::uintptr_t n_streams_ = 0;
  std::map<Context, std::size_t> n_prepared_, n_in_place_;  // marks of calls in place of a stream
  bool has_thread_ = false;
};

Fake* the_fake() noexcept;  // null when the system refuses its memory

}  // namespace tempi::device
