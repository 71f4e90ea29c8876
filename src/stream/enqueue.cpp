#include "stream/enqueue.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/trace.hpp"
#include "base/yield_until.hpp"
#include "device/stream_order.hpp"
#include "mpi/errors.hpp"
#include "request/completion.hpp"
#include "request/progress.hpp"
#include "request/start.hpp"
#include "stream/exchanges.hpp"
#include "stream/on_stream.hpp"
#include "stream/ordinary.hpp"
#include "stream/rounds.hpp"
#include "stream/stream_turn.hpp"

namespace tempi::message {
namespace {

using device::StreamHandle;

// The stream with the context of the buffers of channels. `context`: of other buffers; null: there are none.
device::Scope scope_of(device::Device& device, StreamHandle handle, const AllStarted& with_channel,
                       device::Context context) {
  const device::ProgramStream stream = device.program_stream(handle);
  const auto must_be = [&](device::Context its) {
    if (its == nullptr) return;
    if (context != nullptr && context != its)
      throw Error(ErrorKind::stream,
                  "the buffer of a request is on another GPU than the stream, or in another CUDA "
                  "context");
    context = its;
  };
  must_be(stream.context);
  for (const Started& one : with_channel) must_be(on_stream(*one.message).at.context);
  if (context == nullptr) context = device.program_context();
  if (context == nullptr) throw Error(ErrorKind::stream, "this thread has no CUDA context");
  return {device, context, {handle, context}};
}

[[noreturn]] void refuse_capture(const std::string& why_cpu) {
  throw Error(ErrorKind::stream,
              "a request without a channel cannot be captured into a graph, because the CPU waits: " + why_cpu);
}

// `why_cpu`: empty if the thread carries them out.
void log_ordinary(const AllStarted& all, const std::string& why_cpu) {
  if (!logs(LogLevel::info)) return;
  const std::string way = why_cpu.empty() ? ". A thread carries it out" : ". The CPU waits: " + why_cpu;
  for (const Started& one : all) log(LogLevel::info, "an enqueued request has no channel: " + why_ordinary(one) + way);
}

LastUse& last_use_of(const Started& with_channel) { return on_stream(*with_channel.message).last; }

LastUse& last_use_of_ordinary(const Started& one) {
  const OrdinaryRequestPtr ordinary = find_ordinary(one.request);
  return ordinary ? ordinary->last : on_stream(*one.message).last;
}

// `others`: those that the thread carries out. `reduction`: by the kernel; null: none.
void queue(const device::Scope& stream, StreamHandle handle, const AllStarted& with_channel, const AllStarted& others,
           const pack::TypedReduction* reduction) {
  std::vector<EnqueuedEnd> ends;
  ends.reserve(with_channel.size());
  std::int64_t bytes = 0;
  for (const bool is_send : {true, false}) {
    for (const Started& one : with_channel) {
      const OnStream& its = on_stream(*one.message);
      if (its.is_send != is_send) continue;
      ends.push_back({&its.end, is_send});
      if (is_send) bytes += its.end->box_move().bytes();
    }
  }
  const trace::Span span("queue exchange", {.bytes = bytes, .messages = std::ssize(ends)});
  const bool is_captured = stream.is_capturing();
  const auto each_last_use = [&](auto&& fn) {
    for (const Started& one : with_channel) fn(last_use_of(one));
    for (const Started& one : others) fn(last_use_of_ordinary(one));
  };
  // The kernels of an end run one after the other.
  if (!is_captured) each_last_use([&](const LastUse& last) { come_after(stream, handle, last); });
  std::shared_ptr<ChannelEnd> by_thread;
  if (!others.empty()) {
    by_thread = ordinary_exchange(stream, is_captured, others);
    ends.push_back({&by_thread, false});
    log_ordinary(others, "");
  }
  std::shared_ptr<pack::PreparedExchange> exchange;
  {
    const std::lock_guard lock(enqueued_mutex());
    exchange = prepared_exchange(stream, is_captured, ends, reduction);
  }
  if (by_thread) note_launch(by_thread);
  try {
    exchange->launch(stream, is_captured);  // may wait until the stream has room
  } catch (...) {
    if (by_thread) take_launch_back(by_thread);
    throw;
  }
  if (!is_captured) {
    const LastUse use{handle, exchange, mark_of_use(stream)};
    each_last_use([&](LastUse& last) { last = use; });
  }
  if (!with_channel.empty()) count_call(Function::stream, Outcome::enqueued, static_cast<std::uint64_t>(bytes));
  if (by_thread) count_call(Function::stream, Outcome::enqueued_by_thread);
}

int code_of_loss(const Message& message) {
  const pack::Loss loss = on_stream(message).end->loss();
  return loss == pack::Loss::none ? MPI_SUCCESS : raise(on_stream(message).told, error_of_lost(&message, loss));
}

bool is_lost(const Started& one) { return on_stream(*one.message).end->loss() != pack::Loss::none; }

// Of earlier exchanges of these requests.
int code_of_failed(const AllStarted& by_thread) {
  for (const Started& one : by_thread) {
    const OrdinaryRequestPtr known = find_ordinary(one.request);
    if (const int code = known ? take_failure(*known) : MPI_SUCCESS; code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

// Of earlier exchanges of a request that is not started.
int code_of_earlier(Handle request) {
  if (const OrdinaryRequestPtr known = find_ordinary(request)) return take_failure(*known);
  const MessagePtr message = ManagedRequests::get().find(request);
  if (!message || !message->on_stream) return MPI_SUCCESS;
  if (has_channel({request, message})) return code_of_loss(*message);
  const std::shared_ptr<StreamRounds> rounds = message->is_collective() ? message->hook->stream_rounds() : nullptr;
  for (std::size_t round = 0; rounds && round < rounds->n_rounds(); ++round) {
    for (const Handle part : rounds->requests(round)) {
      if (const int code = code_of_earlier(part); code != MPI_SUCCESS) return code;
    }
  }
  return MPI_SUCCESS;
}

struct Handles {
  explicit Handles(const AllStarted& all) : bytes(all.size() * kRequestBytes) {
    for (std::size_t i = 0; i < all.size(); ++i) store_handle(bytes.data() + i * kRequestBytes, all[i].request);
  }
  std::vector<char> bytes;
};

// Behind the work of the stream, for which the CPU has waited.
int exchange_ordinary_messages(const Real& real, const AllStarted& all, const std::string& why_cpu) {
  const trace::Span span("ordinary exchange", {.messages = std::ssize(all)});
  count_call(Function::stream, Outcome::enqueued_ordinary);
  log_ordinary(all, why_cpu);
  await_ordinary(all);
  Handles handles(all);
  const int n = static_cast<int>(all.size());
  // One after the other: they were started in this order, and MPI_Startall may take any.
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int code = start(real, handles.bytes.data() + i * kRequestBytes);
    if (code != MPI_SUCCESS) return tell_of_part(all[i].message.get(), code);
  }
  std::vector<MPI_Status> statuses(all.size());
  for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
  const int code = wait_each(real, n, handles.bytes.data(), statuses.data());
  remember_ordinary(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (statuses[i].MPI_ERROR != MPI_SUCCESS) return tell_of_part(all[i].message.get(), statuses[i].MPI_ERROR);
  }
  return code;
}

// True: a kernel behind that of the exchange unpacks received bytes.
bool is_any_unpacked(const AllStarted& with_channel) {
  return std::any_of(with_channel.begin(), with_channel.end(), [](const Started& one) {
    const OnStream& its = on_stream(*one.message);
    return !its.is_send && its.end->unpacking() != nullptr;
  });
}

// The state that a round leaves to the next one.
struct CarriedOut {
  AllStarted lost{};        // the requests that are lost, of all rounds
  bool is_reduced = false;  // the kernel of the last exchange has carried out its reduction
};

int carry_out_round(const Real& real, device::Device& device, Round& round, StreamHandle handle, CarriedOut& done) {
  AllStarted& all = round.parts;
  const auto first = std::stable_partition(all.begin(), all.end(), has_channel);
  const AllStarted others(std::make_move_iterator(first), std::make_move_iterator(all.end()));
  all.erase(first, all.end());
  const std::string why_cpu = others.empty() ? "" : why_cpu_waits(others);
  {
    const device::Scope stream = scope_of(device, handle, all, round.of != nullptr ? round.of->context() : nullptr);
    if (!stream.is_capturing()) come_after_rounds(stream, handle);
    if (round.of != nullptr) round.of->queue_kernels(round.number, stream, handle, done.is_reduced);
    done.is_reduced = false;
    if (!why_cpu.empty()) stream.finish();
    const AllStarted none, &by_thread = why_cpu.empty() ? others : none;
    const bool may_reduce = round.of != nullptr && others.empty() && !all.empty() && !is_any_unpacked(all);
    const pack::TypedReduction* const reduction = may_reduce ? round.of->reduction_in(round.number) : nullptr;
    if (!all.empty() || !by_thread.empty()) queue(stream, handle, all, by_thread, reduction);
    done.is_reduced = reduction != nullptr;
    if (round.of != nullptr && !all.empty() && !stream.is_capturing()) note_round(last_use_of(all.front()));
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(done.lost), is_lost);
  return why_cpu.empty() ? code_of_failed(others) : exchange_ordinary_messages(real, others, why_cpu);
}

// Before anything is queued. A capture ends with an error if the CPU has to wait.
void prepare(device::Device& device, const std::vector<Round>& rounds, StreamHandle handle) {
  AllStarted others;
  for (const Round& round : rounds)
    std::copy_if(round.parts.begin(), round.parts.end(), std::back_inserter(others), std::not_fn(has_channel));
  if (has_open(others)) trace::traced("wait for channels", [&] { return await_channels(others); });
  std::erase_if(others, has_channel);  // those that have found the other end meanwhile
  const std::string why_cpu = others.empty() ? "" : why_cpu_waits(others);
  if (!why_cpu.empty() && scope_of(device, handle, {}, nullptr).is_capturing()) refuse_capture(why_cpu);
}

constexpr const char* kNoGpu = "this process uses no GPU";

// After an error, the later rounds are queued as well: the other processes wait for them.
int carry_out(const Real& real, AllStarted&& all, StreamHandle handle) {
  device::Device* const device = device::current();
  if (device == nullptr) return exchange_ordinary_messages(real, all, kNoGpu);  // a default stream: it has no work
  std::vector<Round> rounds = rounds_of(all);
  prepare(*device, rounds, handle);
  int code = MPI_SUCCESS;
  CarriedOut done;
  std::exception_ptr failure;
  for (Round& round : rounds) {
    if (round.of == nullptr && round.parts.empty()) continue;
    try {
      const int its_code = carry_out_round(real, *device, round, handle, done);
      if (code == MPI_SUCCESS) code = its_code;
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return code == MPI_SUCCESS && !done.lost.empty() ? code_of_loss(*done.lost.front().message) : code;
}

}  // namespace

int start_enqueue(const Real&, int count, void* requests, StreamHandle stream) {
  if (count < 0) return raise(comm_world(), MPI_ERR_COUNT);
  if (device::current() == nullptr && !device::is_default_stream(stream)) throw Error(ErrorKind::stream, kNoGpu);
  const device::OrderedByMarks ordered;
  AllStarted started;
  started.reserve(static_cast<std::size_t>(count));
  device::Location seen;
  int code = MPI_SUCCESS;
  try {
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
      const Handle request = load_handle(static_cast<char*>(requests) + i * kRequestBytes);
      code = request == request_null() ? raise(comm_world(), MPI_ERR_REQUEST)
                                       : start_one(request, ManagedRequests::get().find(request), started, seen);
    }
  } catch (...) {
    take_back(started);
    throw;
  }
  if (code != MPI_SUCCESS) return take_back(started), code;
  add_started(stream, std::move(started));
  return code;
}

int wait_enqueue(const Real& real, int count, const void* requests, StreamHandle stream) {
  if (count < 0) return raise(comm_world(), MPI_ERR_COUNT);
  const device::OrderedByMarks ordered;
  std::unique_ptr<StreamTurn> turn;
  yield_until(kForever, [&] { return (turn = StreamTurn::find(stream)) != nullptr; });
  if (AllStarted started = take_started(stream); !started.empty()) return carry_out(real, std::move(started), stream);
  int code = MPI_SUCCESS;
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i)
    code = code_of_earlier(load_handle(static_cast<const char*>(requests) + i * kRequestBytes));
  return code;
}

}  // namespace tempi::message
