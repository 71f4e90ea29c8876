#include "collective/schedule.hpp"

#include <algorithm>

#include "collective/blocks.hpp"
#include "mpi/errors.hpp"
#include "request/completion.hpp"
#include "request/progress.hpp"

namespace tempi::collective {
namespace {

using message::Envelope;
using message::Given;
using message::Lifetime;

bool is_same(const device::Location& one, const device::Location& other) {
  return one.kind == other.kind && one.context == other.context && one.id == other.id && one.begin == other.begin &&
         one.end == other.end;
}

std::vector<int> peers_of(const std::vector<Step>& steps) {
  std::vector<int> peers;
  for (const Step& step : steps) {
    if (std::find(peers.begin(), peers.end(), step.peer) == peers.end()) peers.push_back(step.peer);
  }
  return peers;
}

message::Buffer buffer_of(const void* address, Count count, Handle type, bool is_sent, Handle comm) {
  const auto direction = is_sent ? pack::Direction::pack : pack::Direction::unpack;
  return {Function::collective, direction, address, count, type, comm};
}

int init(const Real& real, const Envelope& envelope, const Given& given, bool is_sent, void* made) {
  const Handle comm = envelope.buffer.comm;
  if (is_sent) {
    return call_given(real.MPI_Send_init, real.MPI_Send_init_c, comm, given, envelope.peer, envelope.tag, comm, made);
  }
  return call_given(real.MPI_Recv_init, real.MPI_Recv_init_c, comm, given, envelope.peer, envelope.tag, comm, made);
}

int receive(const Real& real, const Envelope& envelope, const Given& given, void* made) {
  const Handle comm = envelope.buffer.comm;
  return call_given(real.MPI_Irecv, real.MPI_Irecv_c, comm, given, envelope.peer, envelope.tag, comm, made);
}

}  // namespace

Schedule::Schedule(const Real& real, Handle comm, Steps&& steps, device::Limit limit, int tag)
    : real_(real), comm_(comm), tag_(tag), steps_(std::move(steps)) {
  add(steps_.ins, false, steps_.to);
  if (steps_.is_replaced) copy_ = std::make_shared<SentCopy>(real_, comm_, steps_, limit);
  if (copy_) add(copy_->steps(), true, copy_->address());
  else add(steps_.outs, true, steps_.from);
  requests_.resize(messages_.size() * kRequestBytes);
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    store_handle(request(i), request_null());
    look(messages_[i]);
  }
}

Schedule::~Schedule() { free_requests(); }

void Schedule::add(const std::vector<Step>& steps, bool is_sent, const void* address) {
  for (const int peer : peers_of(steps)) add_message(steps, peer, is_sent, address);
}

void Schedule::add_message(const std::vector<Step>& all, int peer, bool is_sent, const void* address) {
  std::vector<Step> parts;
  std::copy_if(all.begin(), all.end(), std::back_inserter(parts), [&](const Step& one) { return one.peer == peer; });
  const Step& first = parts.front();
  const Envelope envelope =
      parts.size() > 1
          ? joined(parts, is_sent, address)
          : Envelope{buffer_of(moved_by(address, first.displacement), first.count, first.type, is_sent, comm_), peer,
                     tag_};
  messages_.push_back({envelope, {}, is_sent, {}, false, false});
}

Envelope Schedule::joined(const std::vector<Step>& parts, bool is_sent, const void* address) {
  std::vector<int> counts;
  std::vector<Aint> displacements;
  std::vector<char> types(parts.size() * sizeof(Handle));
  for (const Step& part : parts) {
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

void Schedule::look(Message& message) {
  message.is_looked_at = true;
  message.found = message::find_endpoint(message.envelope.buffer, message.envelope.peer);
  if (message.found.refusal) throw Refused{*message.found.refusal};
  if (copy_ && message.is_sent && message.found.endpoint) copy_->adapt(*message.found.endpoint, message.envelope.peer);
  const bool is_on_gpu = message.found.endpoint && message.found.endpoint->end.place.touches_gpu();
  if (!is_on_gpu) {
    memory_ |= kOnHost;
    is_all_on_gpu_ = false;
    return;
  }
  message.end = message.found.endpoint->end;
  is_all_on_gpu_ = is_all_on_gpu_ && !message.end.place.is_split();
  memory_ |= message.found.endpoint->may_be_direct ? kOnGpu : kOnGpu | kNotDirect;
}

unsigned Schedule::memory() {
  if (n_paused_ == 0) return memory_;
  --n_paused_;
  return memory_ | kNotDirect;
}

std::int64_t Schedule::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const Step& step : steps_.outs) {
    if (step.structure) bytes += step.count * step.structure->plan.layout.size;
  }
  return bytes;
}

bool Schedule::fits(const Steps& steps) const {
  device::Device* const device = device::current();
  return !is_under_way_ && may_be_repeated() && device != nullptr && steps == steps_ &&
         std::all_of(messages_.begin(), messages_.end(), [&](const Message& message) {
           const pack::Place place = pack::locate(message.end, message.envelope.buffer.count, *device);
           return !place.is_split() && is_same(place.first, message.end.place.first);
         });
}

device::Context Schedule::context() const {
  return messages_.empty() ? nullptr : messages_.front().end.place.first.context;
}

std::vector<Handle> Schedule::requests(std::size_t) const {
  std::vector<Handle> all;
  for (std::size_t i = 0; i < messages_.size(); ++i) all.push_back(handle(i));
  return all;
}

int Schedule::make_persistent(Message& message, message::Endpoints&& endpoints, void* request) {
  const Envelope& envelope = message.envelope;
  const Envelope* const out = message.is_sent ? &envelope : nullptr;
  const Envelope* const in = message.is_sent ? nullptr : &envelope;
  const bool is_bare = fallback_ == Fallback::follows;
  (message.is_sent ? endpoints.out : endpoints.in).endpoint->is_bare = is_bare;
  const auto over = [&](const Given& sent, const Given& received, void* made) {
    const Given& given = message.is_sent ? sent : received;
    return init(real_, envelope, is_bare ? Given{nullptr, 0, type_byte()} : given, message.is_sent, made);
  };
  return message::run_found(
      {real_, Lifetime::programs, out, in, request}, std::move(endpoints), [&] { return MPI_ERR_INTERN; }, over);
}

int Schedule::make_once(const Envelope& envelope, message::FoundEndpoint&& found, bool is_sent, void* request) {
  if (is_sent) {
    return message::send_outgoing({real_, Lifetime::plain, &envelope, nullptr, request}, std::move(found),
                                  static_cast<Handle*>(request));
  }
  return message::run_found(
      {real_, Lifetime::plain, nullptr, &envelope, request}, {{}, std::move(found)},
      [&] { return receive(real_, envelope, message::as_given(envelope.buffer), request); },
      [&](const Given&, const Given& given, void* made) { return receive(real_, envelope, given, made); });
}

int Schedule::make(Message& message, void* request) {
  if (!message.is_looked_at) look(message);
  message.is_looked_at = false;
  message::FoundEndpoint found = std::move(message.found);
  if (!is_all_on_gpu_) return make_once(message.envelope, std::move(found), message.is_sent, request);
  message::Endpoints endpoints;
  (message.is_sent ? endpoints.out : endpoints.in) = std::move(found);
  return make_persistent(message, std::move(endpoints), request);
}

int Schedule::make_all() {
  const message::PendingSends::SharedLaunch shared_launch;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    Handle made = request_null();
    const int code = make(messages_[i], &made);
    store_handle(request(i), made);
    if (!is_made(code, made)) return code != MPI_SUCCESS ? code : MPI_ERR_OTHER;
  }
  is_made_ = true;
  return MPI_SUCCESS;
}

int Schedule::make() {
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
