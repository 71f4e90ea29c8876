// The fake device as the program uses it.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "device/fake/fake.hpp"
#include "device/fake/fake_device.hpp"

namespace tempi::device {

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
    queues_.add(legacy_queue(target.ordinal), done_at_once([=] { std::memmove(to, from, bytes); }));
  } else {
    queues_.add(legacy_queue(target.ordinal), done_at_once([to, read = std::vector<std::byte>(from, from + bytes)] {
                  std::copy(read.begin(), read.end(), to);
                }));
  }
}

// cudaMemcpyAsync. Pageable bytes have been read when it returns; pageable memory has been written.
void Fake::copy_in_stream(void* dst, const void* src, std::size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const QueueKey queue = queue_at(stream);
  check_failed(queue.context);
  std::byte* const to = memory_.resolve(dst, bytes);
  const std::byte* const from = memory_.resolve(src, bytes);
  if (memory_.locate(src).kind == MemoryKind::host) {
    queues_.add(queue, done_at_once([to, read = std::vector<std::byte>(from, from + bytes)] {
                  std::copy(read.begin(), read.end(), to);
                }));
  } else {
    queues_.add(queue, done_at_once([=] { std::memmove(to, from, bytes); }));
  }
  if (memory_.locate(dst).kind == MemoryKind::host) {
    check_capture(!queues_.is_captured(queue));
    queues_.finish(queue);
  }
}

// cudaMemsetAsync.
void Fake::fill_in_stream(void* dst, int value, std::size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  check_failed(queue_at(stream).context);
  std::byte* const to = memory_.resolve(dst, bytes);
  queues_.add(queue_at(stream), done_at_once([=] { std::memset(to, value, bytes); }));
}

void Fake::synchronize(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const QueueKey queue = queue_at(stream);
  check_capture(!queues_.is_captured(queue));
  queues_.finish(queue);
  check_failed(queue.context);
}

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

bool fake_stream_fail(StreamHandle stream) noexcept {
  return is_done([&](Fake& fake) { fake.fail_in_stream(stream); });
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
