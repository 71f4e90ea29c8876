#include "device/stream_order.hpp"

#include <algorithm>
#include <utility>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/options.hpp"

namespace tempi::device {

constinit std::atomic<OrderAsked> order_asked{OrderAsked::unknown};

namespace {

constexpr std::uintptr_t kLegacy = 1, kPerThread = 2;

ProgramStream stream_by_option() {
  const std::string& name = text(Option::STREAM);
  if (name == "none") return {kNoStream, nullptr};
  return {reinterpret_cast<StreamHandle>(name == "legacy" ? kLegacy : kPerThread), nullptr};
}

const ProgramStream& usual_stream() {
  static const ProgramStream stream = stream_by_option();
  return stream;
}

constinit thread_local bool thread_ended = false;
constinit thread_local bool is_in_place_of_stream = false;

struct OfThread {
  ProgramStream stream = usual_stream();
  std::vector<MarkPtr> of_arrays{};
  int n_ordered_by_marks = 0;
  std::optional<Error> failure{};
  ~OfThread() { thread_ended = true; }
};

// Null: the thread has ended its other objects.
OfThread* of_thread() {
  if (thread_ended) return nullptr;
  thread_local OfThread own;
  return &own;
}

bool is_asked_by_option() {
  const OrderAsked found = usual_stream().handle == kNoStream ? OrderAsked::no : OrderAsked::yes;
  OrderAsked unknown = OrderAsked::unknown;
  order_asked.compare_exchange_strong(unknown, found);
  return order_asked.load() == OrderAsked::yes;
}

bool has_stream(const OfThread& own) { return own.stream.handle != kNoStream; }

// Failed work is not running either: who uses its context is told.
bool is_over(const MarkPtr& mark) noexcept try { return mark->reached(); } catch (...) {
  return true;
}

[[noreturn]] void refuse_capture() {
  throw Error(ErrorKind::stream,
              "a graph is being captured from it. Only MPI_Pack and MPI_Unpack between buffers in device memory can be "
              "captured");
}

void check_stream(Device& device, const ProgramStream& stream, const Location& location) {
  if (stream.context == nullptr) return;
  if (device.has_ended(stream.context)) throw Error(ErrorKind::stream, "the program has ended its CUDA context");
  if (location.on_gpu() && stream.context != location.context)
    throw Error(ErrorKind::stream, "the buffer is on another GPU than the stream, or in another CUDA context");
}

Scope scope_of(Device& device, const ProgramStream& stream, const Location& location) {
  return {device, stream.context != nullptr ? stream.context : location.context, stream};
}

}  // namespace

InPlaceOfStream::InPlaceOfStream() noexcept { is_in_place_of_stream = true; }
InPlaceOfStream::~InPlaceOfStream() { is_in_place_of_stream = false; }
bool InPlaceOfStream::lives() noexcept { return is_in_place_of_stream; }

bool is_order_asked_here() noexcept {
  if (InPlaceOfStream::lives()) return false;
  if (order_asked.load(std::memory_order_relaxed) == OrderAsked::unknown && !is_asked_by_option()) return false;
  const OfThread* const own = of_thread();
  return own != nullptr && (has_stream(*own) || !own->of_arrays.empty());
}

bool is_default_stream(StreamHandle handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle) <= kPerThread; }

void set_stream(Device* device, StreamHandle handle) {
  OfThread* const own = of_thread();
  if (own == nullptr) return;
  const bool is_default = is_default_stream(handle) || handle == kNoStream;
  if (!is_default && device == nullptr) throw Error(ErrorKind::stream, "this process uses no GPU");
  own->stream = is_default ? ProgramStream{handle, nullptr} : device->program_stream(handle);
  order_asked.store(OrderAsked::yes);
}

StreamHandle stream() noexcept {
  const OfThread* const own = of_thread();
  return own != nullptr ? own->stream.handle : kNoStream;
}

std::optional<ProgramStream> stream_for(Device& device, const Location& location) {
  const OfThread* const own = calls_are_ordered() ? of_thread() : nullptr;
  if (own == nullptr || !has_stream(*own)) return {};
  check_stream(device, own->stream, location);
  return own->stream;
}

void wait_for_array(Device& device, const Location& location, StreamHandle handle) {
  OfThread* const own = of_thread();
  if (own == nullptr || location.context == nullptr) return;
  const ProgramStream stream = device.program_stream(handle);
  const Scope here = scope_of(device, stream, location);
  if (here.is_capturing()) refuse_capture();
  std::erase_if(own->of_arrays, is_over);
  own->of_arrays.push_back(here.mark());
  order_asked.store(OrderAsked::yes);
}

OrderedByMarks::OrderedByMarks() noexcept : is_needed_(calls_are_ordered()) {
  if (is_needed_) ++of_thread()->n_ordered_by_marks;
}

OrderedByMarks::~OrderedByMarks() {
  if (is_needed_) --of_thread()->n_ordered_by_marks;
}

Earlier earlier_of_arrays() {
  Earlier earlier;
  OfThread* const own = calls_are_ordered() ? of_thread() : nullptr;
  if (own == nullptr) return earlier;
  std::erase_if(own->of_arrays, is_over);
  earlier.marks_ = own->of_arrays;
  return earlier;
}

Earlier Earlier::now(Device& device, const Location& location) {
  Earlier earlier = earlier_of_arrays();
  if (const auto stream = stream_for(device, location)) {
    const Scope here = scope_of(device, *stream, location);
    if (here.is_capturing()) refuse_capture();
    earlier.marks_.push_back(here.mark());
  }
  if (earlier.any()) count_call(Function::stream, Outcome::ordered);
  return earlier;
}

void Earlier::hold_back(const Scope& here) const {
  for (const MarkPtr& mark : marks_) here.wait_for(*mark);
}

void Earlier::wait() const {
  for (const MarkPtr& mark : marks_) mark->wait();
}

void finish_earlier(Device& device, const Location& location) {
  if (!calls_are_ordered() || !location.gpu_reaches()) return;
  OfThread& own = *of_thread();
  const std::vector<MarkPtr> of_arrays = std::exchange(own.of_arrays, {});
  for (const MarkPtr& mark : of_arrays) mark->wait();
  const auto stream = stream_for(device, location);
  if (!stream) return;
  const Scope here = scope_of(device, *stream, location);
  if (here.is_capturing()) refuse_capture();
  here.finish();
  count_call(Function::stream, Outcome::waited);
}

void finish_earlier(Device* device) {
  if (device == nullptr || !calls_are_ordered()) return;
  const OfThread& own = *of_thread();
  const Context context = own.stream.context != nullptr ? own.stream.context : device->program_context();
  const Location anywhere{.kind = MemoryKind::pinned, .context = context};
  if (anywhere.context != nullptr) finish_earlier(*device, anywhere);
}

void await_streams(Device& device, const Location& location) noexcept {
  OfThread* const own = of_thread();
  if (own == nullptr || own->n_ordered_by_marks > 0) return;
  try {
    finish_earlier(device, location);
  } catch (...) {
    if (!own->failure) own->failure.emplace(caught_error());
  }
}

void throw_failed_wait() {
  OfThread* const own = order_asked.load(std::memory_order_relaxed) == OrderAsked::yes ? of_thread() : nullptr;
  if (own == nullptr || !own->failure) return;
  const Error failure = *std::exchange(own->failure, std::nullopt);
  throw Error(failure);
}

}  // namespace tempi::device
