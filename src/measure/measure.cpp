#include "measure/measure.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "measure/memory.hpp"
#include "measure/message.hpp"
#include "measure/pair.hpp"
#include "measure/reduction.hpp"

namespace tempi::measure {
namespace {

using device::MemoryKind;
using message::PackedBuffer;
using message::Strategy;
using pack::Direction;

std::int64_t bytes_of(const Measurement& what) {
  int size = 0;
  check(real_pmpi().MPI_Type_size(static_cast<Handle>(what.datatype), &size), "MPI_Type_size");
  if (size < 0) throw std::runtime_error("the datatype is larger than 2 GiB");
  return what.count * size;
}

Strategy strategy_of(const Measurement& what, const Typed& typed) {
  const std::string_view name = what.strategy;
  if (const auto strategy = model::strategy_named(name)) return *strategy;
  if (name != "auto") throw std::runtime_error("there is no strategy \"" + std::string(name) + "\"");
  return message::choose({MemoryKind::device, typed.is_contiguous(), typed.features(), false, comm_world(), what.peer})
      .strategy;
}

// The strategy of messages of host memory that is asked for, if it is one.
std::optional<Strategy> of_host(const Measurement& what) {
  const auto strategy = model::strategy_named(what.strategy);
  return strategy && model::row(*strategy).typed != model::Part::none ? strategy : std::nullopt;
}

std::vector<double> measure_side_on_gpu(const Measurement& what, Direction direction) {
  Typed typed(what, MemoryKind::device);
  const message::Endpoint side = typed.side(direction, strategy_of(what, typed));
  return repeat_timed(limit_of(what), [&] { PackedBuffer(side, &gpu(), device::Limit::none).move(); });
}

std::vector<double> measure_side_on_host(const Measurement& what, Direction direction, Strategy strategy) {
  Typed typed(what, MemoryKind::host);
  std::vector<char> packed(static_cast<std::size_t>(typed.bytes()), 1);
  const pack::BoxMove box_move = typed.box_move(direction, packed.data());
  if (model::packs_on_host(strategy)) return repeat_timed(limit_of(what), [&] { pack::move_on_host(box_move); });
  if (typed.bytes() > std::numeric_limits<int>::max()) throw std::runtime_error("MPI_Pack takes up to 2 GiB");
  const Real& mpi = real_pmpi();
  const auto size = static_cast<int>(typed.bytes()), count = static_cast<int>(what.count);
  const auto type = static_cast<Handle>(what.datatype);
  return repeat_timed(limit_of(what), [&] {
    int position = 0;
    check(direction == Direction::pack
              ? mpi.MPI_Pack(typed.data(), count, type, packed.data(), size, &position, comm_world())
              : mpi.MPI_Unpack(packed.data(), size, &position, typed.data(), count, type, comm_world()),
          "MPI_Pack or MPI_Unpack");
  });
}

std::vector<double> measure_side(const Measurement& what, Direction direction) {
  const std::optional<Strategy> strategy = of_host(what);
  return strategy ? measure_side_on_host(what, direction, *strategy) : measure_side_on_gpu(what, direction);
}

// One end of a ping-pong message, with its resources.
struct End {
  std::function<void(int tag)> send;
  std::function<int()> receive;  // returns the tag
};

// The lower rank leads: it times, and tells the other with the tag when it is enough.
std::vector<double> go_to_and_fro(const Measurement& what, const End& end) {
  if (world_rank() > what.peer) {
    while (end.receive() == kGoOn) end.send(kGoOn);
    return {};
  }
  const std::vector<double> samples = repeat(limit_of(what), [&] {
    const auto begin = Clock::now();
    end.send(kGoOn);
    end.receive();
    return seconds_since(begin) / 2;
  });
  end.send(kStop);
  return samples;
}

int receive(void* data, const message::PackedType& packed, int peer) {
  MPI_Status status{};
  check(real_pmpi().MPI_Recv(data, packed.count(), packed.type(), peer, MPI_ANY_TAG, comm_world(), &status),
        "MPI_Recv");
  return status.MPI_TAG;
}

void send_packed(const void* data, const message::PackedType& packed, int peer, int tag) {
  check(real_pmpi().MPI_Send(data, packed.count(), packed.type(), peer, tag, comm_world()), "MPI_Send");
}

// The memory that the library is handed.
MemoryKind carried_in(const Measurement& what) {
  const auto strategy = model::strategy_named(what.strategy);
  if (strategy && model::needs_aware_library(*strategy)) return MemoryKind::device;
  return has_gpu() ? MemoryKind::pinned : MemoryKind::host;
}

// The memory of messages of one size, for both ways.
struct Buffers {
  explicit Buffers(const Measurement& what)
      : kind(carried_in(what)), out(kind, bytes_of(what)), in(kind, bytes_of(what)), packed(bytes_of(what)) {}
  MemoryKind kind;
  Memory out, in;
  message::PackedType packed;
};

End message_end(const Measurement& what) {
  const auto buffers = std::make_shared<Buffers>(what);
  const int peer = what.peer;
  return {[=](int tag) { send_packed(buffers->out.data(), buffers->packed, peer, tag); },
          [=] { return receive(buffers->in.data(), buffers->packed, peer); }};
}

End strided_end(const Measurement& what) {
  const auto wish = model::strategy_named(what.strategy);
  const bool is_on_host = wish && model::packs_on_host(*wish);
  const auto typed = std::make_shared<Typed>(what, is_on_host ? MemoryKind::host : MemoryKind::device);
  const auto packed = std::make_shared<message::PackedType>(typed->bytes());
  const auto strategy = [=] { return strategy_of(what, *typed); };
  const int peer = what.peer;
  if (model::packs_nothing(strategy())) {
    if (!typed->is_contiguous()) throw std::runtime_error("the library is only given contiguous GPU memory");
    return {[=](int tag) { send_packed(typed->data(), *packed, peer, tag); },
            [=] { return receive(typed->data(), *packed, peer); }};
  }
  device::Device* const device = device::current();
  return {[=](int tag) {
            PackedBuffer packed_buffer(typed->side(Direction::pack, strategy()), device, device::Limit::none);
            packed_buffer.move();
            send_packed(packed_buffer.data(), *packed, peer, tag);
          },
          [=] {
            PackedBuffer packed_buffer(typed->side(Direction::unpack, strategy()), device, device::Limit::none);
            const int tag = receive(packed_buffer.data(), *packed, peer);
            packed_buffer.move();
            return tag;
          }};
}

Strategy strategy_on_host(const Measurement& what) {
  const std::optional<Strategy> strategy = of_host(what);
  if (!strategy) throw std::runtime_error("host memory is sent by \"host\" or \"library\"");
  return *strategy;
}

End typed_end(const Measurement& what) {
  const auto message = std::make_shared<HostMessage>(what, strategy_on_host(what));
  return {[=](int tag) { message->send(tag); }, [=] { return message->receive(); }};
}

using DirectEnd = std::shared_ptr<DirectMessage>;

DirectEnd direct_end(const Measurement& what) { return std::make_shared<DirectMessage>(what); }

// To and fro once, with both receives posted before either end sends. Half of its seconds.
double meet_once(DirectMessage& message, int peer) {
  message.post();
  exchanged(kGoOn, peer);
  const bool leads = world_rank() < peer;
  const auto begin = Clock::now();
  if (leads) message.send();
  message.receive();
  if (!leads) message.send();
  return seconds_since(begin) / 2;
}

// These receives have no wildcard, so that a tag cannot say whether there is another round.
std::vector<double> meet(const Measurement& what, const DirectEnd& message) {
  const message::ForceDirect forced;
  const std::uint64_t n_before = DirectMessage::n_sent();
  std::uint64_t n_rounds = 0;
  const std::vector<double> samples = repeat_together(what, [&] {
    ++n_rounds;
    return meet_once(*message, what.peer);
  });
  const bool were_direct = DirectMessage::n_sent() - n_before + kNotCounted >= n_rounds;
  must_be_well_on_both(were_direct, what.peer, "the messages did not go direct");
  return samples;
}

bool is_direct(const Measurement& what) {
  const auto strategy = model::strategy_named(what.strategy);
  return strategy && model::needs_both_ends(*strategy);
}

std::vector<double> measure_direct_to_oneself(const Measurement& mine) {
  const message::ForceDirect forced;
  DirectMessage message(mine);
  const std::uint64_t n_before = DirectMessage::n_sent();
  const std::vector<double> samples = repeat_timed(limit_of(mine), [&] { message.to_oneself(); });
  const bool were_direct = DirectMessage::n_sent() - n_before >= samples.size();
  if (!were_direct) throw std::runtime_error("the messages did not go direct");
  return samples;
}

std::vector<double> measure_to_oneself(const Measurement& what) {
  Measurement mine = what;
  mine.peer = world_rank();
  if (is_direct(what)) return measure_direct_to_oneself(mine);
  HostMessage message(mine, strategy_on_host(what));
  return repeat_timed(limit_of(what), [&] { message.to_oneself(); });
}

}  // namespace

std::vector<double> measure(const Measurement& what) {
  const std::string_view name = what.what;
  if (what.count < 1) throw std::runtime_error("there is nothing to move: the count is less than 1");
  if (name == "message") return between_two(what, message_end, go_to_and_fro);
  if (name == "strided") return between_two(what, strided_end, go_to_and_fro);
  if (name == "typed") return between_two(what, typed_end, go_to_and_fro);
  if (name == "direct") return between_two(what, direct_end, meet);
  if (name == "reduce") return measure_reduction_of_pair(what);
  const CurrentContext context;
  if (name == "self") return measure_to_oneself(what);
  if (name == "reduce_local") return measure_local_reduction(what);
  if (name == "pack") return measure_side(what, Direction::pack);
  if (name == "unpack") return measure_side(what, Direction::unpack);
  throw std::runtime_error("there is nothing to measure called \"" + std::string(name) + "\"");
}

}  // namespace tempi::measure
