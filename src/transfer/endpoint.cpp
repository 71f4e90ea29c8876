#include "transfer/endpoint.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>

#include "base/options.hpp"
#include "base/trace.hpp"
#include "mpi/active.hpp"
#include "mpi/own_comm.hpp"
#include "peer/peer.hpp"
#include "transfer/no_gpu.hpp"
#include "transfer/strategy.hpp"

namespace tempi::message {
namespace {

struct Switches {
  bool no_send = flag(Option::NO_SEND);
};

const Switches& switches() {
  static const Switches all;
  return all;
}

std::optional<int> check_arguments(const Buffer& buffer, const KnownType* type) {
  const bool is_committed = type != nullptr && type->is_committed.load(std::memory_order_relaxed);
  if (is_committed && peer::knows(buffer.comm)) return {};
  if (const auto refusal = find_refusal(buffer.datatype, buffer.comm)) return refusal;
  if (type != nullptr) type->is_committed.store(true, std::memory_order_relaxed);
  peer::get_to_know(buffer.comm);
  return {};
}

bool is_contiguous(const KnownType& type, Count count) { return pack::is_plain_copy(*type.plan, {count, type.extent}); }

// The GPU memory of the last message in any. It may have been freed since: where the hint is wrong, find_endpoint()
// takes its time, no more.
struct LastOnGpu {
  std::atomic<std::uintptr_t> begin{0}, end{0};

  void note(const device::Location& found) {
    if (holds(reinterpret_cast<const void*>(found.begin))) return;
    begin.store(found.begin, std::memory_order_relaxed);
    end.store(found.end, std::memory_order_relaxed);
  }
  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin.load(std::memory_order_relaxed) && at < end.load(std::memory_order_relaxed);
  }
};
constinit LastOnGpu last_on_gpu;

bool may_be_on_gpu(const void* address, device::Device& device) {
  return last_on_gpu.holds(address) || device.locate(address).on_gpu();
}

bool overflows(Count count, std::int64_t size) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes);
}

// Without a GPU: true if messages may be ours.
bool may_be_ours() { return may_pack_on_host() || may_use_wrong_types(); }

// Without a GPU: this count of elements is the library's.
void remember(const Buffer& buffer, int peer, const KnownType& type) {
  if (choice_may_change()) return;
  const auto where = static_cast<std::size_t>(peer::host_peer(buffer.comm, peer));
  type.library_counts[where].store(buffer.count, std::memory_order_relaxed);
}

// A message that needs no look. Only a report counts it: else most of these calls do not come here
// (transfer/no_gpu.hpp).
void report_untouched(const Buffer& buffer, Outcome why = Outcome::passed_to_library) {
  if (!flag(Option::REPORT)) return;
  const KnownType* type = find_type(buffer.datatype);
  if (type == nullptr && buffer.count > 0 && !find_refusal(buffer.datatype, own_comm()))
    type = analyse_type(buffer.datatype).type;
  const bool is_sized = type != nullptr && buffer.count > 0 && !overflows(buffer.count, type->size());
  count_call(buffer.function, why, is_sized ? static_cast<std::uint64_t>(buffer.count * type->size()) : 0);
}

// `on_gpu` tells the timeline where the buffer is, also where there is no endpoint.
std::optional<Endpoint> endpoint_of(const Buffer& buffer, int peer, const KnownType& type, device::Device* device,
                                    bool& on_gpu) {
  Endpoint endpoint{buffer.direction, type.prepared, buffer.count,
                    pack::laid_out_end(type.plan->layout, buffer.address, type.extent)};
  const bool contiguous = is_contiguous(type, buffer.count);
  if (contiguous && type.is_named && contiguous_is_library(buffer.comm, peer)) {
    const bool asks = device != nullptr && trace::is_on.load(std::memory_order_relaxed);
    on_gpu = asks && may_be_on_gpu(endpoint.end.at(endpoint.end.layout->true_lower_bound), *device);
    return {};
  }
  pack::Place& place = endpoint.end.place;
  if (device != nullptr) place = pack::locate(endpoint.end, endpoint.count, *device);
  on_gpu = device != nullptr && place.touches_gpu();
  if (place.first.on_gpu()) last_on_gpu.note(place.first);
  const Shape shape{on_gpu ? device::MemoryKind::device : device::MemoryKind::host,
                    contiguous && !place.is_split(),
                    features_of(*type.plan, {buffer.count, type.extent}),
                    type.plan->traffic.is_indexed,
                    buffer.comm,
                    peer,
                    type.is_moved_wrongly};
  const Choice choice = choose(shape);
  endpoint.strategy = choice.strategy;
  const bool as_bytes = on_gpu && contiguous && !type.is_named && !place.is_split();
  if (model::packs_nothing(endpoint.strategy) && !as_bytes) {
    if (device == nullptr) remember(buffer, peer, type);
    return {};
  }
  endpoint.may_be_direct = choice.may_be_direct && !place.is_split();
  if (place.is_split()) endpoint.strategy = Strategy::oneshot;  // its parts meet in pinned memory
  return endpoint;
}

// Into the timeline, for `tempi simulate trace`: a span of no length at the call.
void note_message(const Buffer& buffer, int peer, const KnownType& type, Strategy strategy, bool on_gpu) {
  if (!trace::is_on.load(std::memory_order_relaxed)) return;
  const model::Features features = features_of(*type.plan, {buffer.count, type.extent});
  const trace::Span span(buffer.direction == pack::Direction::pack ? "send" : "receive",
                         {.bytes = features.bytes,
                          .strategy = model::text(strategy),
                          .peer = peer::rank_in_world(buffer.comm, peer),
                          .blocks = features.blocks,
                          .touched = features.touched,
                          .pages = features.pages,
                          .is_indexed = type.plan->traffic.is_indexed ? 1 : 0,
                          .memory = on_gpu ? "GPU" : "host"});
}

}  // namespace

bool is_switched_off() noexcept { return switches().no_send; }

bool belongs_to_library(const Buffer& buffer, int peer) noexcept {
  if (!active()) return true;
  if (device::calls_are_ordered()) return false;  // find_endpoint() looks after it
  if (switches().no_send || buffer.count <= 0) {
    report_untouched(buffer, switches().no_send ? Outcome::passed_disabled : Outcome::passed_to_library);
    return true;
  }
  device::Device* const device = device::current();
  if (device == nullptr && !may_use_wrong_types() && !is_without_gpu()) look_whether_without_gpu();
  if (device == nullptr && !may_be_ours()) {
    report_untouched(buffer);
    return true;
  }
  const KnownType* const type = find_type(buffer.datatype);
  if (type == nullptr || !type->is_committed.load(std::memory_order_relaxed) || type->size() == 0 ||
      type->is_moved_wrongly || overflows(buffer.count, type->size())) {
    return false;
  }
  const bool is_known = device == nullptr && is_for_library(*type, buffer.count, peer, buffer.comm);
  if (!is_known && !is_contiguous(*type, buffer.count)) return false;
  const bool wherever =
      device == nullptr || (type->is_named && peer::knows(buffer.comm) && contiguous_is_library(buffer.comm, peer));
  const pack::End end = pack::laid_out_end(type->plan->layout, buffer.address, type->extent);
  if (!wherever && may_be_on_gpu(end.at(end.layout->true_lower_bound), *device)) return false;
  count_call(buffer.function, Outcome::passed_to_library, static_cast<std::uint64_t>(buffer.count * type->size()));
  return true;
}

namespace {

// Buffers that the library gets come after the program's streams, too.
void come_after_streams(const Buffer& buffer, const KnownType& type, std::optional<Endpoint>& endpoint,
                        device::Device* device) {
  if (device == nullptr || !device::calls_are_ordered()) return;
  if (endpoint) {
    endpoint->earlier = earlier_work(endpoint->end.place, endpoint->strategy, *device);
    return;
  }
  const pack::End end = pack::laid_out_end(type.plan->layout, buffer.address, type.extent);
  device::finish_earlier(*device, pack::locate(end, buffer.count, *device).gpu());
}

}  // namespace

FoundEndpoint find_endpoint(const Buffer& buffer, int peer) {
  if (peer == MPI_PROC_NULL || !active() || buffer.count <= 0) return {};
  device::Device* const device = device::current();
  if (switches().no_send) {
    device::finish_earlier(device);
    return {};
  }
  if (device == nullptr && !may_be_ours()) {
    report_untouched(buffer);
    return {};
  }
  const KnownType* type = find_type(buffer.datatype);
  if (const auto refusal = check_arguments(buffer, type)) return {{}, refusal};
  if (type == nullptr) type = analyse_type(buffer.datatype).type;
  if (type == nullptr) device::finish_earlier(device);
  if (type == nullptr || type->size() == 0 || overflows(buffer.count, type->size())) return {};
  bool on_gpu = false;
  const device::OrderedByMarks ordered;
  FoundEndpoint found{endpoint_of(buffer, peer, *type, device, on_gpu)};
  come_after_streams(buffer, *type, found.endpoint, device);
  count_endpoint(buffer, peer, *type, found.endpoint ? found.endpoint->strategy : Strategy::library, on_gpu);
  return found;
}

void count_endpoint(const Buffer& buffer, int peer, const KnownType& type, Strategy strategy, bool on_gpu) {
  count_call(buffer.function, outcome_of(strategy), static_cast<std::uint64_t>(buffer.count * type.size()));
  note_message(buffer, peer, type, strategy, on_gpu);
}

// Probed by sending one element to MPI_PROC_NULL: with a count of 0 MPICH does not check the datatype.
std::optional<int> find_refusal(Handle datatype, Handle comm) noexcept {
  const char nothing = 0;
  Handle request = request_null();
  const int code = real_pmpi().MPI_Isend(&nothing, 1, datatype, MPI_PROC_NULL, 0, comm, &request);
  if (!is_made(code, request)) return code;
  real_pmpi().MPI_Wait(&request, MPI_STATUS_IGNORE);
  return {};
}

bool is_valid(Handle comm, Handle datatype) noexcept {
  if (peer::knows(comm)) return true;
  if (find_refusal(datatype, comm)) return false;
  peer::get_to_know(comm);
  return true;
}

PackedType::PackedType(std::int64_t bytes) : count_(static_cast<int>(bytes)), type_(type_packed()) {
  if (bytes <= INT_MAX) return;
  constexpr std::int64_t kPiece = 1 << 30;
  const Real& mpi = real_pmpi();
  Handle piece = 0;
  mpi.MPI_Type_contiguous(kPiece, type_packed(), &piece);
  join(static_cast<int>(bytes / kPiece), piece, static_cast<int>(bytes % kPiece), bytes / kPiece * kPiece);
  mpi.MPI_Type_free(&piece);
}

PackedType::PackedType(const PackedBuffer& packed_buffer)
    : PackedType(packed_buffer.bytes() - (packed_buffer.sets_last_byte_apart() ? 1 : 0)) {
  if (!packed_buffer.sets_last_byte_apart()) return;
  Handle others = type_;
  const bool frees = is_own_;
  join(count_, others, 1, packed_buffer.bytes());
  if (frees) real_pmpi().MPI_Type_free(&others);
}

// `count` elements of `type`, and `bytes` more at a displacement, are the datatype from now on.
void PackedType::join(int count, Handle type, int bytes, Aint displacement) {
  const std::array<int, 2> counts{count, bytes};
  const std::array<Aint, 2> displacements{0, displacement};
  alignas(Handle) std::array<char, 2 * sizeof(Handle)> types{};
  store_handle(types.data(), type);
  store_handle(types.data() + sizeof(MPI_Datatype), type_packed());
  real_pmpi().MPI_Type_create_struct(2, counts.data(), displacements.data(), types.data(), &type_);
  real_pmpi().MPI_Type_commit(&type_);
  count_ = 1;
  is_own_ = true;
}

PackedType::~PackedType() {
  if (is_own_) real_pmpi().MPI_Type_free(&type_);
}

}  // namespace tempi::message
