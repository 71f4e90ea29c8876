#include "device/fake/fake.hpp"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "device/fake/failures.hpp"
#include "device/fake/memory.hpp"
#include "device/fake/queues.hpp"
#include "device/fake/tiles.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kMostParamBytes = 32764;  // of a CUDA kernel

constexpr std::uintptr_t kLegacy = 1, kPerThread = 2, kFirstStream = 0x1000;  // handles

StreamHandle as_handle(std::uintptr_t number) { return reinterpret_cast<StreamHandle>(number); }
bool is_default(StreamHandle stream) { return reinterpret_cast<std::uintptr_t>(stream) <= kPerThread; }

// The queue of a stream of the program. Null and 1 are the legacy stream.
QueueKey queue_of(StreamHandle stream, Context context) {
  const bool is_of_thread = stream == as_handle(kPerThread);
  const auto thread = is_of_thread ? std::this_thread::get_id() : std::thread::id();
  return {thread, context, Lane::first, stream == nullptr ? as_handle(kLegacy) : stream};
}

// The queues that this thread has entered, innermost last.
struct Entered {
  std::array<QueueKey, 16> queues{};
  std::size_t depth = 0;
};
thread_local Entered entered;

const QueueKey& own_queue() {
  if (entered.depth == 0) throw Error(ErrorKind::device, "fake device: no context is entered");
  return entered.queues[entered.depth - 1];
}

Context current_context() { return own_queue().context; }

class Fake final : public Device {
 public:
  Fake() : failures_(text(Option::FAKE_FAIL)), queues_(number(Option::FAKE_SEED)) {}

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
  bool reaches(int, int) noexcept override { return true; }
  ProgramStream program_stream(StreamHandle handle) override {
    const std::lock_guard lock(mutex_);
    if (is_default(handle)) return {handle, nullptr};
    return {handle, context_of(handle)};
  }
  bool poll(const Progress& progress, const QueueKey& queue, bool waits);

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
    for (const FakeQueues::Effect& effect : graph) queues_.add(queue_at(stream), effect);
  }

 private:
  Location find(const void* address) noexcept override {
    const std::lock_guard lock(mutex_);
    const Location found = memory_.locate(address);
    if (found.on_gpu() && memory_.make_synchronous(address)) finish_legacy_queues();
    return found;
  }
  void enter(Context context, Lane lane) override { enter({std::this_thread::get_id(), context, lane, nullptr}); }
  void enter_stream(Context context, StreamHandle stream) override {
    if (!is_default(stream) && program_stream(stream).context != context)
      throw Error(ErrorKind::device, "fake device: a stream of another context");
    enter(queue_of(stream, context));
  }
  void enter(const QueueKey& queue) {
    const std::lock_guard lock(mutex_);
    if (!lives(queue.context))
      throw Error(ErrorKind::device, "fake device: no such context, or it has ended");
    if (entered.depth == entered.queues.size()) throw Error(ErrorKind::internal, "fake device: entered too deep");
    entered.queues[entered.depth++] = queue;
  }
  void leave(Context) noexcept override { --entered.depth; }

  void launch(const Kernel& kernel, Grid grid, const void* params) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void finish() override;
  MarkPtr mark() override;
  void wait_for(const Mark& mark) override;
  bool is_capturing() override {
    const std::lock_guard lock(mutex_);
    return queues_.is_captured(own_queue());
  }

  void* allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    failures_.pass("allocate", ErrorKind::no_memory);
    return memory_.allocate(MemoryKind::device, fake_ordinal(current_context()), bytes);
  }
  void deallocate(void* address) noexcept override {
    const std::lock_guard lock(mutex_);
    memory_.give_back(address);
  }
  void pin(void* pages, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    failures_.pass("pinned", ErrorKind::no_memory);
    memory_.pin(fake_ordinal(current_context()), pages, bytes);
  }
  void unpin(void* pages) noexcept override {
    const std::lock_guard lock(mutex_);
    memory_.unpin(pages);
  }
  std::uintptr_t map(const SharedAllocation& allocation) override {
    const std::lock_guard lock(mutex_);
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
  // CUDA breaks a capture by a call that it does not allow.
  static void check_capture(bool is_allowed) {
    if (!is_allowed) throw Error(ErrorKind::device, "fake device: not allowed while a graph is captured");
  }
  // It also holds the program's synchronous copies that have returned early (fake_copy), as CUDA's do.
  QueueKey legacy_queue(int ordinal) const { return queue_of(nullptr, memory_.context(ordinal)); }
  void finish_legacy_queues() {
    for (int ordinal = 0; ordinal < kFakeOrdinals; ++ordinal) queues_.finish(legacy_queue(ordinal));
  }
  void pass_finish(const QueueKey& queue);

  Mutex<Lock::fake_device> mutex_;
  FakeMemory memory_;
  Failures failures_;
  FakeQueues queues_;
  std::map<StreamHandle, Context> streams_;  // of the program
  std::uintptr_t n_streams_ = 0;
};

void Fake::launch(const Kernel& kernel, Grid grid, const void* params) {
  if (grid.tiles == 0 || grid.threads == 0 || grid.threads > kernel.most_threads ||
      kernel.param_bytes > kMostParamBytes)
    throw Error(ErrorKind::device, "fake device: a GPU refuses to launch this");
  const auto* first = static_cast<const std::byte*>(params);
  const std::lock_guard lock(mutex_);
  failures_.pass("launch", ErrorKind::device);
  const int ordinal = fake_ordinal(current_context());
  // operator new aligns the copy to 16 bytes, the largest alignment of a parameter struct.
  queues_.add(own_queue(),
              [this, kernel, grid, ordinal, copied = std::vector<std::byte>(first, first + kernel.param_bytes)] {
                failures_.is_due("run");
                run_tiles(kernel, grid, copied.data(), ordinal, memory_, queues_.random());
              });
}

void Fake::copy(void* dst, const void* src, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  failures_.pass("copy", ErrorKind::device);
  if (!memory_.can_copy(dst, src)) throw Error(ErrorKind::device, "fake device: a GPU does not copy between these");
  std::byte* to = memory_.resolve(dst, bytes);
  const std::byte* from = memory_.resolve(src, bytes);
  const bool flips = failures_.is_due("flip");
  queues_.add(own_queue(), [=] {
    std::memmove(to, from, bytes);
    if (flips && bytes > 0) to[bytes / 2] ^= std::byte{1};
  });
}

class FakeMark final : public Mark {
 public:
  FakeMark(Fake& fake, QueueKey queue, ProgressPtr progress)
      : fake_(fake), queue_(std::move(queue)), progress_(std::move(progress)) {}
  bool reached() override { return fake_.poll(*progress_, queue_, false); }
  void wait() override { fake_.poll(*progress_, queue_, true); }
  const ProgressPtr& progress() const { return progress_; }

 private:
  Fake& fake_;
  QueueKey queue_;
  ProgressPtr progress_;
};

MarkPtr Fake::mark() {
  const std::lock_guard lock(mutex_);
  check_capture(!queues_.is_captured(own_queue()));
  return std::make_shared<FakeMark>(*this, own_queue(), queues_.add_mark(own_queue()));
}

void Fake::wait_for(const Mark& mark) {
  const std::lock_guard lock(mutex_);
  check_capture(!queues_.is_captured(own_queue()));
  queues_.add(own_queue(), [] {}, static_cast<const FakeMark&>(mark).progress());
}

// A failed wait drops the queue's remaining work, as a lost GPU does.
void Fake::pass_finish(const QueueKey& queue) {
  try {
    failures_.pass("finish", ErrorKind::device);
  } catch (...) {
    queues_.drop(queue);
    throw;
  }
}

// Queries a mark once, or until it is reached.
bool Fake::poll(const Progress& progress, const QueueKey& queue, bool waits) {
  const std::lock_guard lock(mutex_);
  if (waits) pass_finish(queue);
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
  pass_finish(own);
  queues_.finish(own);
  if (queues_.take_loss(own)) throw Error(ErrorKind::device, "fake device: the work before a mark was lost");
}

// cudaMemcpy. It returns early where its destination is device memory and its source is pageable or GPU memory, unless
// the destination has been made synchronous. Pageable bytes have been read by then, others not. A library that is
// CUDA-aware has its own way to wait; it is told nothing of that here, so nothing is early.
void Fake::copy_for_program(void* dst, const void* src, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* const to = memory_.resolve(dst, bytes);
  const std::byte* const from = memory_.resolve(src, bytes);
  const Location target = memory_.locate(dst), source = memory_.locate(src);
  const bool is_early = !memory_.library_reaches() && target.kind == MemoryKind::device &&
                        (source.on_gpu() || source.kind == MemoryKind::host);
  if (!is_early || memory_.is_synchronous(dst) || memory_.is_synchronous(src)) {
    finish_legacy_queues();
    std::memmove(to, from, bytes);
  } else if (source.on_gpu()) {
    queues_.add(legacy_queue(target.ordinal), [=] { std::memmove(to, from, bytes); });
  } else {
    queues_.add(legacy_queue(target.ordinal),
                [to, read = std::vector<std::byte>(from, from + bytes)] { std::memcpy(to, read.data(), read.size()); });
  }
}

// cudaMemcpyAsync. Pageable bytes have been read when it returns; pageable memory has been written.
void Fake::copy_in_stream(void* dst, const void* src, std::size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const QueueKey queue = queue_at(stream);
  std::byte* const to = memory_.resolve(dst, bytes);
  const std::byte* const from = memory_.resolve(src, bytes);
  if (memory_.locate(src).kind == MemoryKind::host) {
    queues_.add(queue,
                [to, read = std::vector<std::byte>(from, from + bytes)] { std::memcpy(to, read.data(), read.size()); });
  } else {
    queues_.add(queue, [=] { std::memmove(to, from, bytes); });
  }
  if (memory_.locate(dst).kind == MemoryKind::host) {
    check_capture(!queues_.is_captured(queue));
    queues_.finish(queue);
  }
}

// cudaMemsetAsync.
void Fake::fill_in_stream(void* dst, int value, std::size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  std::byte* const to = memory_.resolve(dst, bytes);
  queues_.add(queue_at(stream), [=] { std::memset(to, value, bytes); });
}

void Fake::synchronize(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const QueueKey queue = queue_at(stream);
  check_capture(!queues_.is_captured(queue));
  queues_.finish(queue);
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

}  // namespace

Device* fake_device() noexcept { return the_fake(); }

void* fake_allocate(MemoryKind kind, int ordinal, std::size_t bytes) noexcept try {
  if (!the_fake() || kind == MemoryKind::host || ordinal < 0 || ordinal >= kFakeOrdinals) return nullptr;
  return the_fake()->allocate_for_program(kind, ordinal, bytes);
} catch (const std::exception&) {
  return nullptr;
}

void* fake_allocate(const char* kind, int ordinal, std::size_t bytes) noexcept {
  for (auto one : {MemoryKind::pinned, MemoryKind::managed, MemoryKind::device})
    if (std::string_view(kind) == name(one)) return fake_allocate(one, ordinal, bytes);
  return nullptr;
}

void fake_deallocate(void* address) noexcept {
  if (the_fake()) the_fake()->release_for_program(address);
}

bool fake_copy(void* dst, const void* src, std::size_t bytes) noexcept try {
  if (!the_fake()) return false;
  the_fake()->copy_for_program(dst, src, bytes);
  return true;
} catch (const std::exception&) {
  return false;
}

void fake_end_context(int ordinal) noexcept {
  if (the_fake() && ordinal >= 0 && ordinal < kFakeOrdinals) the_fake()->end_context_for_program(ordinal);
}

namespace {

// False without a fake device, or if it throws.
template <class Fn>
bool is_done(const Fn& fn) noexcept try {
  if (!the_fake()) return false;
  fn(*the_fake());
  return true;
} catch (const std::exception&) {
  return false;
}

using Graph = std::vector<FakeQueues::Effect>;

}  // namespace

StreamHandle fake_stream_create(int ordinal) noexcept {
  StreamHandle made = nullptr;
  if (ordinal >= 0 && ordinal < kFakeOrdinals) is_done([&](Fake& fake) { made = fake.create_stream(ordinal); });
  return made;
}

void fake_stream_destroy(StreamHandle stream) noexcept {
  is_done([&](Fake& fake) { fake.destroy_stream(stream); });
}

bool fake_stream_copy(void* dst, const void* src, std::size_t bytes, StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.copy_in_stream(dst, src, bytes, stream); });
}

bool fake_stream_fill(void* dst, int value, std::size_t bytes, StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.fill_in_stream(dst, value, bytes, stream); });
}

bool fake_stream_synchronize(StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.synchronize(stream); });
}

bool fake_stream_begin_capture(StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.begin_capture(stream); });
}

void* fake_stream_end_capture(StreamHandle stream) noexcept {
  void* graph = nullptr;
  is_done([&](Fake& fake) { graph = new Graph(fake.end_capture(stream)); });
  return graph;
}

bool fake_graph_launch(void* graph, StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.launch_graph(*static_cast<const Graph*>(graph), stream); });
}

void fake_graph_destroy(void* graph) noexcept { delete static_cast<Graph*>(graph); }

std::size_t fake_unfinished() noexcept { return the_fake() ? the_fake()->unfinished() : 0; }

}  // namespace tempi::device
