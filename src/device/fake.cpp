#include "device/fake.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "device/fake_failures.hpp"
#include "device/fake_memory.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kMostParamBytes = 32764;  // of a CUDA kernel
constexpr unsigned kMostPolls = 4;

// How far a mark is. Lost with the queue that would have reached it.
struct Progress {
  enum { ahead, reached, lost } state = ahead;
};
using ProgressPtr = std::shared_ptr<Progress>;

struct Operation {
  unsigned polls;  // how often it is still found running
  std::function<void()> effect;
  ProgressPtr after = nullptr;  // a mark that it waits for
};
using QueueKey = std::tuple<std::thread::id, Context, Lane>;

// The program's synchronous copies that have returned early (fake_copy), as those of CUDA do: a queue of no thread.
QueueKey legacy_queue(int ordinal) { return {std::thread::id(), fake_context(ordinal), Lane::kernels}; }

// The contexts entered by this thread, innermost last.
struct Entered {
  std::array<std::pair<Context, Lane>, 16> contexts{};
  std::size_t depth = 0;
};
constinit thread_local Entered entered;

class Fake final : public Device {
 public:
  Fake()
      : failures_(text(Option::FAKE_FAIL)),
        random_(static_cast<std::mt19937::result_type>(number(Option::FAKE_SEED))) {}

  std::string name() const override { return "fake"; }

  Location locate(const void* address) noexcept override {
    const std::lock_guard lock(mutex_);
    const Location found = memory_.locate(address);
    if (found.on_gpu() && memory_.make_synchronous(address)) finish_legacy_queues();
    return found;
  }

  Facts facts() noexcept override { return {"fake", kFakeOrdinals, "fake"}; }
  Context primary(int ordinal) override { return fake_context(ordinal); }

  void enter(Context context, Lane lane) override {
    const int ordinal = fake_ordinal(context);
    if (ordinal < 0 || ordinal >= kFakeOrdinals) throw Error(ErrorKind::device, "fake device: no such context");
    if (entered.depth == entered.contexts.size()) throw Error(ErrorKind::internal, "fake device: entered too deep");
    entered.contexts[entered.depth++] = {context, lane};
  }
  void leave(Context) noexcept override { --entered.depth; }

  void launch(const Kernel& kernel, Grid grid, const void* params) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void finish() override;
  MarkPtr mark() override;
  void wait_for(const Mark& mark) override;
  bool poll(Progress& progress, const QueueKey& queue, bool waits);

  void* allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    failures_.pass("allocate", ErrorKind::no_memory);
    return memory_.allocate(MemoryKind::device, fake_ordinal(current_context()), bytes);
  }
  void deallocate(void* address) noexcept override { release(address); }
  void pin(void* pages, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    failures_.pass("pinned", ErrorKind::no_memory);
    memory_.pin(entered.depth ? fake_ordinal(current_context()) : 0, pages, bytes);
  }
  void unpin(void* pages) noexcept override {
    const std::lock_guard lock(mutex_);
    memory_.unpin(pages);
  }

  void* allocate_for_program(MemoryKind kind, int ordinal, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return memory_.allocate(kind, ordinal, bytes);
  }
  void copy_for_program(void* dst, const void* src, std::size_t bytes);
  void release_for_program(void* address) {
    const std::lock_guard lock(mutex_);
    finish_legacy_queues();
    memory_.deallocate(address);
  }
  void release(void* address) {
    const std::lock_guard lock(mutex_);
    memory_.deallocate(address);
  }
  std::size_t unfinished() {
    const std::lock_guard lock(mutex_);
    finish_legacy_queues();
    return std::accumulate(queues_.begin(), queues_.end(), std::size_t{0},
                           [](std::size_t sum, const auto& queue) { return sum + queue.second.size(); });
  }

 private:
  static Context current_context() {
    if (entered.depth == 0) throw Error(ErrorKind::device, "fake device: no context is entered");
    return entered.contexts[entered.depth - 1].first;
  }
  static QueueKey own_queue() {
    return {std::this_thread::get_id(), current_context(), entered.contexts[entered.depth - 1].second};
  }

  static void outside_device_memory(std::uintptr_t address);
  static void check_wide_access(std::uintptr_t address, std::size_t bytes);
  unsigned random_below(std::size_t end) { return static_cast<unsigned>(random_() % end); }

  // All below: the caller holds the mutex.
  void enqueue(const QueueKey& queue, std::function<void()> effect, ProgressPtr after = nullptr) {
    queues_[queue].push_back({random_below(kMostPolls + 1), std::move(effect), std::move(after)});
  }
  void enqueue(std::function<void()> effect, ProgressPtr after = nullptr) {
    enqueue(own_queue(), std::move(effect), std::move(after));
  }
  void finish_queue(const QueueKey& queue) {
    while (queues_.contains(queue)) poll_any_queue();
  }
  void finish_legacy_queues() {
    for (int ordinal = 0; ordinal < kFakeOrdinals; ++ordinal) finish_queue(legacy_queue(ordinal));
  }
  void run_tiles(const Kernel& kernel, Grid grid, const void* params, int ordinal);
  void poll_any_queue();
  void lose(QueueKey queue);

  std::mutex mutex_;
  FakeMemory memory_;
  Failures failures_;
  std::mt19937 random_;
  std::map<QueueKey, std::deque<Operation>> queues_;  // without empty ones
  std::set<QueueKey> lost_;                           // that have lost what they held
};

// A tile's: what no thread has written holds nothing of use.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : words_((bytes + sizeof(Word) - 1) / sizeof(Word)) {}
  void fill() { std::memset(words_.data(), 0xDB, words_.size() * sizeof(Word)); }
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };
  std::vector<Word> words_;
};

void Fake::launch(const Kernel& kernel, Grid grid, const void* params) {
  if (grid.tiles == 0 || grid.threads == 0 || grid.threads > kernel.most_threads ||
      kernel.param_bytes > kMostParamBytes)
    throw Error(ErrorKind::device, "fake device: a GPU refuses to launch this");
  const auto* first = static_cast<const std::byte*>(params);
  const std::lock_guard lock(mutex_);
  failures_.pass("launch", ErrorKind::device);
  // operator new aligns the copy to 16 bytes, as much as a parameter struct asks for.
  const int ordinal = fake_ordinal(current_context());
  enqueue([this, kernel, grid, ordinal, copied = std::vector<std::byte>(first, first + kernel.param_bytes)] {
    run_tiles(kernel, grid, copied.data(), ordinal);
  });
}

// Tiles run in any order on a GPU; a kernel that depends on one is found out.
void Fake::run_tiles(const Kernel& kernel, Grid grid, const void* params, int ordinal) {
  std::vector<std::uint32_t> order(grid.tiles);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random_);
  AddressShift shift = memory_.shift(ordinal);
  shift.outside = outside_device_memory;
  shift.wide = check_wide_access;
  SharedMemory shared(kernel.shared_bytes);
  for (std::uint32_t tile : order) {
    shared.fill();
    for (int phase = 0; phase < kernel.phases; ++phase)
      for (std::uint32_t thread = 0; thread < grid.threads; ++thread)
        kernel.host_body(params, {tile, thread, grid.threads, phase, shared.data()}, shift);
  }
}

void Fake::copy(void* dst, const void* src, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  failures_.pass("copy", ErrorKind::device);
  if (!memory_.can_copy(dst, src)) throw Error(ErrorKind::device, "fake device: a GPU does not copy between these");
  std::byte* to = memory_.resolve(dst, bytes);
  const std::byte* from = memory_.resolve(src, bytes);
  const bool flips = failures_.is_due("flip");
  enqueue([=] {
    std::memmove(to, from, bytes);
    if (flips && bytes > 0) to[bytes / 2] ^= std::byte{1};
  });
}

// Told when the operation that reaches a mark is done, or dropped without having been done.
struct Teller {
  explicit Teller(ProgressPtr told) : progress(std::move(told)) {}
  ~Teller() {
    if (progress->state == Progress::ahead) progress->state = Progress::lost;
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;
  ProgressPtr progress;
};

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
  auto progress = std::make_shared<Progress>();
  enqueue([teller = std::make_shared<Teller>(progress)] { teller->progress->state = Progress::reached; });
  return std::make_shared<FakeMark>(*this, own_queue(), progress);
}

void Fake::wait_for(const Mark& mark) {
  const std::lock_guard lock(mutex_);
  enqueue([] {}, static_cast<const FakeMark&>(mark).progress());
}

// One look at a mark, or as many as it takes. A failed wait loses what the queue still held.
bool Fake::poll(Progress& progress, const QueueKey& queue, bool waits) {
  const std::lock_guard lock(mutex_);
  try {
    if (waits) failures_.pass("finish", ErrorKind::device);
  } catch (...) {
    queues_.erase(queue);
    throw;
  }
  do {
    if (progress.state == Progress::ahead && !queues_.empty()) poll_any_queue();
  } while (waits && progress.state == Progress::ahead);
  if (progress.state == Progress::lost) throw Error(ErrorKind::device, "fake device: the work before a mark was lost");
  return progress.state == Progress::reached;
}

// A failed finish loses what the queue still held, as a lost GPU does.
void Fake::finish() {
  const std::lock_guard lock(mutex_);
  const QueueKey own = own_queue();
  try {
    failures_.pass("finish", ErrorKind::device);
  } catch (...) {
    queues_.erase(own);
    throw;
  }
  finish_queue(own);
  if (lost_.erase(own) != 0) throw Error(ErrorKind::device, "fake device: the work before a mark was lost");
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
    enqueue(legacy_queue(target.ordinal), [=] { std::memmove(to, from, bytes); });
  } else {
    enqueue(legacy_queue(target.ordinal),
            [to, read = std::vector<std::byte>(from, from + bytes)] { std::memcpy(to, read.data(), read.size()); });
  }
}

// Work behind a mark that is lost fails, and all that its queue holds with it.
void Fake::lose(QueueKey queue) {
  queues_.erase(queue);
  lost_.insert(queue);
}

// Queues make progress in any order, but the operations of one complete one after the other.
void Fake::poll_any_queue() {
  const auto queue = std::next(queues_.begin(), random_below(queues_.size()));
  Operation& first = queue->second.front();
  if (first.after && first.after->state == Progress::ahead) return;
  if (first.after && first.after->state == Progress::lost) return lose(queue->first);
  if (first.polls > 0) {
    --first.polls;
    return;
  }
  first.effect();
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
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

// A kernel runs under the mutex.
void Fake::outside_device_memory(std::uintptr_t address) {
  if (the_fake()->memory_.kernels_reach(address)) return;
  warn_once("fake_reach", "fake device: a kernel used memory that its GPU does not reach");
  std::abort();
}

void Fake::check_wide_access(std::uintptr_t address, std::size_t bytes) {
  if (the_fake()->memory_.is_inside_allocation(address, bytes)) return;
  warn_once("fake_wide", "fake device: a kernel read beyond an allocation");
  std::abort();
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

std::size_t fake_unfinished() noexcept { return the_fake() ? the_fake()->unfinished() : 0; }

}  // namespace tempi::device
