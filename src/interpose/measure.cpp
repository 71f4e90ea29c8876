#include "interpose/measure.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "datatype/canonical.hpp"
#include "interpose/meter.hpp"
#include "interpose/side.hpp"
#include "send/machine.hpp"
#include "send/strategy.hpp"

namespace tempi::interpose {
namespace {

using device::MemoryKind;
using device::Scope;
using pack::Direction;
using send::Payload;
using send::Side;
using send::Strategy;

constexpr int kGoOn = 1, kStop = 2;  // tags of messages

SampleLimit limit_of(const tempi_measurement& what) { return {what.max_seconds, what.max_samples}; }

bool has_gpu() {
  device::Device* const device = device::current();
  return device != nullptr && device->facts().count > 0;
}

// As programs have it that use their GPU: libraries look at the context that is current, too.
class CurrentContext {
 public:
  CurrentContext() {
    if (has_gpu()) scope_.emplace(gpu(), my_context());
  }

 private:
  std::optional<Scope> scope_;
};

Strategy strategy_of(const tempi_measurement& what, const model::Features& features, bool dense) {
  const std::string_view name = what.strategy;
  for (std::size_t i = 0; i < model::kStrategies; ++i) {
    if (name == model::text(static_cast<Strategy>(i))) return static_cast<Strategy>(i);
  }
  if (name == "auto") return send::choose({MemoryKind::device, dense, features, comm_world(), what.peer});
  throw std::runtime_error("there is no strategy \"" + std::string(name) + "\"");
}

bool is_of_host(std::string_view strategy) { return strategy == "host" || strategy == "library"; }

// The vector that the caller has described, in memory of its own.
class Vector {
 public:
  Vector(const tempi_measurement& what, MemoryKind kind)
      : is_dense_(what.stride == what.block),
        bytes_(what.n_blocks * what.block),
        plan_(std::make_shared<pack::Plan>(
            datatype::canonicalise(datatype::strided(what.n_blocks, what.stride, datatype::dense(what.block))))),
        memory_(kind, (what.n_blocks - 1) * what.stride + what.block) {
    if (kind != MemoryKind::host) return;
    const Real& mpi = real_pmpi();
    mpi.MPI_Type_create_hvector(static_cast<int>(what.n_blocks), static_cast<int>(what.block), what.stride, type_byte(),
                                &type_);
    mpi.MPI_Type_commit(&type_);
  }
  ~Vector() {
    if (type_ != 0) real_pmpi().MPI_Type_free(&type_);
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  bool is_dense() const { return is_dense_; }
  std::int64_t bytes() const { return bytes_; }
  model::Features features() const { return send::features_of(*plan_, {1, bytes_}); }
  void* data() { return memory_.data(); }
  Handle type() const { return type_; }

  Side side(Direction direction, Strategy strategy) {
    Side side{direction, plan_, {1, bytes_}, data(), {}, strategy};
    if (strategy != Strategy::host) side.route = pack::find_route(transfer(direction, nullptr), {}, gpu());
    return side;
  }
  pack::Transfer transfer(Direction direction, void* packed) {
    return {*plan_, {1, bytes_}, direction, data(), packed};
  }

 private:
  bool is_dense_;
  std::int64_t bytes_;
  pack::PlanPtr plan_;
  Memory memory_;
  Handle type_ = 0;
};

std::vector<double> measure_side_on_gpu(const tempi_measurement& what, Direction direction) {
  Vector vector(what, MemoryKind::device);
  const Side side = vector.side(direction, strategy_of(what, vector.features(), vector.is_dense()));
  return repeat_timed(limit_of(what), [&] { Payload(side, &gpu(), device::Limit::none).move(); });
}

std::vector<double> measure_side_on_host(const tempi_measurement& what, Direction direction) {
  Vector vector(what, MemoryKind::host);
  std::vector<char> packed(static_cast<std::size_t>(vector.bytes()), 1);
  const pack::Transfer transfer = vector.transfer(direction, packed.data());
  if (std::strcmp(what.strategy, "host") == 0)
    return repeat_timed(limit_of(what), [&] { pack::move_on_host(transfer); });
  const Real& mpi = real_pmpi();
  const auto size = static_cast<int>(vector.bytes());
  return repeat_timed(limit_of(what), [&] {
    int position = 0;
    if (direction == Direction::pack)
      mpi.MPI_Pack(vector.data(), 1, vector.type(), packed.data(), size, &position, comm_world());
    else mpi.MPI_Unpack(packed.data(), size, &position, vector.data(), 1, vector.type(), comm_world());
  });
}

std::vector<double> measure_side(const tempi_measurement& what, Direction direction) {
  return is_of_host(what.strategy) ? measure_side_on_host(what, direction) : measure_side_on_gpu(what, direction);
}

// The smallest transfer there is: what is left is the launch.
std::vector<double> measure_launch(const tempi_measurement& what) {
  tempi_measurement least = what;
  least.strategy = "device", least.n_blocks = 2, least.block = 8, least.stride = 16;
  return measure_side_on_gpu(least, Direction::pack);
}

// One end of a message that goes to and fro.
struct End {
  std::function<void(int tag)> send;
  std::function<int()> receive;  // returns the tag
};

// The lower rank leads: it times, and tells the other with the tag when it is enough.
std::vector<double> go_to_and_fro(const tempi_measurement& what, const End& end) {
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

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

int receive(void* data, const Packed& packed, int peer) {
  MPI_Status status{};
  check(real_pmpi().MPI_Recv(data, packed.count(), packed.type(), peer, MPI_ANY_TAG, comm_world(), &status),
        "MPI_Recv");
  return status.MPI_TAG;
}

void send_packed(const void* data, const Packed& packed, int peer, int tag) {
  check(real_pmpi().MPI_Send(data, packed.count(), packed.type(), peer, tag, comm_world()), "MPI_Send");
}

std::vector<double> measure_message(const tempi_measurement& what) {
  const std::int64_t bytes = what.n_blocks * what.block;
  const bool on_gpu = std::strcmp(what.strategy, "device") == 0;
  const MemoryKind by_host = has_gpu() ? MemoryKind::pinned : MemoryKind::host;
  Memory out(on_gpu ? MemoryKind::device : by_host, bytes), in(on_gpu ? MemoryKind::device : by_host, bytes);
  const Packed packed(bytes);
  return go_to_and_fro(what, {[&](int tag) { send_packed(out.data(), packed, what.peer, tag); },
                              [&] { return receive(in.data(), packed, what.peer); }});
}

std::vector<double> measure_strided(const tempi_measurement& what) {
  Vector vector(what, std::strcmp(what.strategy, "host") == 0 ? MemoryKind::host : MemoryKind::device);
  const Packed packed(vector.bytes());
  const auto strategy = [&] { return strategy_of(what, vector.features(), vector.is_dense()); };
  if (strategy() == Strategy::library) {
    if (!vector.is_dense()) throw std::runtime_error("the library is only given contiguous GPU memory");
    return go_to_and_fro(what, {[&](int tag) { send_packed(vector.data(), packed, what.peer, tag); },
                                [&] { return receive(vector.data(), packed, what.peer); }});
  }
  device::Device* const device = device::current();
  return go_to_and_fro(what, {[&](int tag) {
                                Payload payload(vector.side(Direction::pack, strategy()), device, device::Limit::none);
                                payload.move();
                                send_packed(payload.data(), packed, what.peer, tag);
                              },
                              [&] {
                                Payload payload(vector.side(Direction::unpack, strategy()), device,
                                                device::Limit::none);
                                const int tag = receive(payload.data(), packed, what.peer);
                                payload.move();
                                return tag;
                              }});
}

}  // namespace

std::vector<double> measure(const tempi_measurement& what) {
  const CurrentContext context;
  const std::string_view name = what.what;
  if (what.n_blocks < 1 || what.block < 1 || what.stride < what.block)
    throw std::runtime_error("there is no such vector");
  if (name == "launch") return measure_launch(what);
  if (name == "pack") return measure_side(what, Direction::pack);
  if (name == "unpack") return measure_side(what, Direction::unpack);
  if (name == "message") return measure_message(what);
  if (name == "strided") return measure_strided(what);
  throw std::runtime_error("there is nothing to measure called \"" + std::string(name) + "\"");
}

}  // namespace tempi::interpose
