#include "collective/exchange.hpp"

#include <algorithm>

#include "collective/blocks.hpp"
#include "message/completion.hpp"
#include "message/engine.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {
namespace {

using message::Given;
using message::Half;
using message::Lifetime;

bool is_same(const device::Location& one, const device::Location& other) {
  return one.kind == other.kind && one.context == other.context && one.id == other.id && one.begin == other.begin &&
         one.end == other.end;
}

std::vector<int> peers_of(const std::vector<Piece>& pieces) {
  std::vector<int> peers;
  for (const Piece& piece : pieces) {
    if (std::find(peers.begin(), peers.end(), piece.peer) == peers.end()) peers.push_back(piece.peer);
  }
  return peers;
}

message::Buffer buffer_of(const void* address, Count count, Handle type, bool is_sent, Handle comm) {
  const auto direction = is_sent ? pack::Direction::pack : pack::Direction::unpack;
  return {Function::collective, direction, address, count, type, comm};
}

int init(const Real& real, const Half& half, const Given& given, bool is_sent, void* made) {
  const Handle comm = half.buffer.comm;
  if (is_sent) {
    return call_given(real.MPI_Send_init, real.MPI_Send_init_c, comm, given, half.peer, half.tag, comm, made);
  }
  return call_given(real.MPI_Recv_init, real.MPI_Recv_init_c, comm, given, half.peer, half.tag, comm, made);
}

int receive(const Real& real, const Half& half, const Given& given, void* made) {
  const Handle comm = half.buffer.comm;
  return call_given(real.MPI_Irecv, real.MPI_Irecv_c, comm, given, half.peer, half.tag, comm, made);
}

}  // namespace

Exchange::Exchange(const Real& real, Handle comm, Pieces&& pieces, device::Limit limit, int tag)
    : real_(real), comm_(comm), tag_(tag), pieces_(std::move(pieces)) {
  add(pieces_.ins, false, pieces_.to);
  if (pieces_.is_replaced) copy_ = std::make_shared<SentCopy>(real_, comm_, pieces_, limit);
  if (copy_) add(copy_->pieces(), true, copy_->address());
  else add(pieces_.outs, true, pieces_.from);
  requests_.resize(messages_.size() * kRequestBytes);
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    store_handle(request(i), request_null());
    look(messages_[i]);
  }
}

Exchange::~Exchange() { free_requests(); }

void Exchange::add(const std::vector<Piece>& pieces, bool is_sent, const void* address) {
  for (const int peer : peers_of(pieces)) add_message(pieces, peer, is_sent, address);
}

void Exchange::add_message(const std::vector<Piece>& all, int peer, bool is_sent, const void* address) {
  std::vector<Piece> parts;
  std::copy_if(all.begin(), all.end(), std::back_inserter(parts), [&](const Piece& one) { return one.peer == peer; });
  const Piece& first = parts.front();
  const Half half =
      parts.size() > 1
          ? joined(parts, is_sent, address)
          : Half{buffer_of(moved_by(address, first.displacement), first.count, first.type, is_sent, comm_), peer, tag_};
  messages_.push_back({half, {}, is_sent, {}, false, false});
}

Half Exchange::joined(const std::vector<Piece>& parts, bool is_sent, const void* address) {
  std::vector<int> counts;
  std::vector<Aint> displacements;
  std::vector<char> types(parts.size() * sizeof(Handle));
  for (const Piece& part : parts) {
    if (!message::fits_int(part.count)) {
      throw Error(ErrorKind::unsupported,
                  "a neighbour stands in several places, with more elements than an int counts");
    }
    store_handle(&types[counts.size() * sizeof(MPI_Datatype)], part.type);
    counts.push_back(static_cast<int>(part.count));
    displacements.push_back(part.displacement);
  }
  Handle type = 0;
  real_pmpi().MPI_Type_create_struct(static_cast<int>(counts.size()), counts.data(), displacements.data(), types.data(),
                                     &type);
  real_pmpi().MPI_Type_commit(&type);
  joined_types_.push_back(std::make_shared<const OwnType>(type));
  return {buffer_of(address, 1, type, is_sent, comm_), parts.front().peer, tag_};
}

void Exchange::look(Message& message) {
  message.is_looked_at = true;
  message.found = message::find_side(message.half.buffer, message.half.peer);
  if (message.found.refusal) throw Refused{*message.found.refusal};
  if (copy_ && message.is_sent && message.found.side) copy_->adapt(*message.found.side, message.half.peer);
  const bool is_on_gpu = message.found.side && message.found.side->end.place.touches_gpu();
  if (!is_on_gpu) {
    memory_ |= kOnHost;
    is_all_on_gpu_ = false;
    return;
  }
  message.end = message.found.side->end;
  is_all_on_gpu_ = is_all_on_gpu_ && !message.end.place.is_split();
  memory_ |= message.found.side->may_be_direct ? kOnGpu : kOnGpu | kNotDirect;
}

unsigned Exchange::memory() {
  if (n_paused_ == 0) return memory_;
  --n_paused_;
  return memory_ | kNotDirect;
}

std::int64_t Exchange::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces_.outs) {
    if (piece.structure) bytes += piece.count * piece.structure->plan.layout.size;
  }
  return bytes;
}

bool Exchange::fits(const Pieces& pieces) const {
  device::Device* const device = device::current();
  return !is_under_way_ && may_be_repeated() && device != nullptr && pieces == pieces_ &&
         std::all_of(messages_.begin(), messages_.end(), [&](const Message& message) {
           const pack::Place place = pack::locate(message.end, message.half.buffer.count, *device);
           return !place.is_split() && is_same(place.first, message.end.place.first);
         });
}

int Exchange::make_persistent(Message& message, message::Sides&& sides, void* request) {
  const Half& half = message.half;
  const Half* const out = message.is_sent ? &half : nullptr;
  const Half* const in = message.is_sent ? nullptr : &half;
  const bool is_bare = fallback_ == Fallback::follows;
  (message.is_sent ? sides.out : sides.in).side->is_bare = is_bare;
  const auto over = [&](const Given& sent, const Given& received, void* made) {
    const Given& given = message.is_sent ? sent : received;
    return init(real_, half, is_bare ? Given{nullptr, 0, type_byte()} : given, message.is_sent, made);
  };
  return message::run_found(
      {real_, Lifetime::programs, out, in, request}, std::move(sides), [&] { return MPI_ERR_INTERN; }, over);
}

int Exchange::make_once(const Half& half, message::FoundSide&& found, bool is_sent, void* request) {
  if (is_sent) {
    return message::send_half({real_, Lifetime::plain, &half, nullptr, request}, std::move(found),
                              static_cast<Handle*>(request));
  }
  return message::run_found(
      {real_, Lifetime::plain, nullptr, &half, request}, {{}, std::move(found)},
      [&] { return receive(real_, half, message::as_given(half.buffer), request); },
      [&](const Given&, const Given& given, void* made) { return receive(real_, half, given, made); });
}

int Exchange::make(Message& message, void* request) {
  if (!message.is_looked_at) look(message);
  message.is_looked_at = false;
  message::FoundSide found = std::move(message.found);
  if (!is_all_on_gpu_) return make_once(message.half, std::move(found), message.is_sent, request);
  message::Sides sides;
  (message.is_sent ? sides.out : sides.in) = std::move(found);
  return make_persistent(message, std::move(sides), request);
}

int Exchange::make_all() {
  const message::Engine::Together together;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    Handle made = request_null();
    const int code = make(messages_[i], &made);
    store_handle(request(i), made);
    if (!is_made(code, made)) return code != MPI_SUCCESS ? code : MPI_ERR_OTHER;
  }
  is_made_ = true;
  return MPI_SUCCESS;
}

int Exchange::make() {
  int code = MPI_ERR_OTHER;
  try {
    code = make_all();
  } catch (...) {
    give_up(MPI_ERR_OTHER);
    throw;
  }
  if (code != MPI_SUCCESS) give_up(code);
  return code;
}

}  // namespace tempi::collective
