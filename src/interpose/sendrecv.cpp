// MPI-4.1, 3.10: send-receive. Each half is the library's or ours, independently of the other.
#include "interpose/entry.hpp"
#include "interpose/exchange.hpp"
#include "send/engine.hpp"
#include "send/finish.hpp"

namespace tempi::interpose {
namespace {

using send::Engine;
using send::Payload;

// One half: the program's buffer, or the payload in its place.
class Half {
 public:
  Half(const FoundSide& found, const Buffer& buffer) : given_{buffer.address, buffer.count, buffer.datatype} {
    if (!found.side) return;
    payload_.emplace(*found.side, device::current(), device::Limit::none);
    if (buffer.direction == pack::Direction::pack) payload_->move();
    packed_.emplace(*payload_);
    given_ = {payload_->data(), packed_->count(), packed_->type()};
  }
  const Given& given() const { return given_; }
  std::optional<Payload>& payload() { return payload_; }

 private:
  Given given_;
  std::optional<Payload> payload_;
  std::optional<Packed> packed_;
};

// The library's MPI_Sendrecv or MPI_Isendrecv over what the halves give; `last` is a status or a request.
template <class Small, class Large, class Last>
int call_exchange(Small small, Large large, const Exchange& exchange, const Given& out, const Given& in, Last last) {
  const auto call = [&](auto fn, auto out_count, auto in_count) {
    return call_if_there(fn, out.address, out_count, out.type, exchange.destination, exchange.sendtag, in.writable(),
                         in_count, in.type, exchange.source, exchange.recvtag, exchange.out.comm, last);
  };
  return call_form(
      large, exchange.out.comm, {out.count, in.count}, [&] { return call(large, out.count, in.count); },
      [&] { return call(small, static_cast<int>(out.count), static_cast<int>(in.count)); });
}

struct Sides {
  FoundSide out, in;
  bool any() const { return out.side || in.side; }
  std::optional<int> refusal() const { return out.refusal ? out.refusal : in.refusal; }
};

Sides find_sides(const Exchange& exchange) {
  Sides sides{find_side(exchange.out, exchange.destination), {}};
  if (!sides.out.refusal) sides.in = find_side(exchange.in, exchange.source);
  return sides;
}

// Will the library accept where it is to write?
bool is_sound(const MPI_Status* status) { return send::is_status(status); }
bool is_sound(const void* request) { return request != nullptr; }

template <class Small, class Large>
int run(const Real&, Small small, Large large, const Exchange& exchange, const Sides& sides, MPI_Status* status) {
  Half out(sides.out, exchange.out), in(sides.in, exchange.in);
  if (!in.payload()) return call_exchange(small, large, exchange, out.given(), in.given(), status);
  send::SeenStatus seen(status);
  const int code = call_exchange(small, large, exchange, out.given(), in.given(), seen.get());
  send::unpack_received(*in.payload(), code, *seen.get());
  return code;
}

template <class Small, class Large>
int run(const Real& real, Small small, Large large, const Exchange& exchange, const Sides& sides, void* request) {
  if (sides.any()) return isendrecv(real, exchange, sides.out, sides.in, request);
  return call_exchange(small, large, exchange, {exchange.out.address, exchange.out.count, exchange.out.datatype},
                       {exchange.in.address, exchange.in.count, exchange.in.datatype}, request);
}

template <class Small, class Large, class Last>
int sendrecv(const Real& real, Small small, Large large, const Exchange& exchange, Last last) noexcept {
  return guarded_and_tended(exchange.out.comm, [&] {
    Engine::flush();
    const Sides sides = is_sound(last) ? find_sides(exchange) : Sides{};
    if (const auto refusal = sides.refusal()) return *refusal;
    return run(real, small, large, exchange, sides, last);
  });
}

// One buffer: with payloads it is an exchange of two, else the library's own call, `replace`.
template <class Small, class Large, class Last, class Replace>
int sendrecv_replace(const Real& real, Small small, Large large, const Exchange& exchange, Last last,
                     const Replace& replace) noexcept {
  return guarded_and_tended(exchange.out.comm, [&] {
    Engine::flush();
    Sides sides{is_sound(last) ? find_side(exchange.out, MPI_ANY_SOURCE) : FoundSide{}, {}};
    if (const auto refusal = sides.refusal()) return *refusal;
    if (!sides.any()) return replace();
    if (sides.out.side->strategy == send::Strategy::library) sides.out.side->strategy = send::Strategy::device;
    sides.in = sides.out;
    sides.in.side->direction = pack::Direction::unpack;
    return run(real, small, large, exchange, sides, last);
  });
}

}  // namespace

// `Number` is the type of counts; `large` the form to call where counts are large, or nullptr.
#define TEMPI_SENDRECV(name, entry, Number, large, Last)                                                            \
  TEMPI_ENTRY(entry,                                                                                                \
              (const void* sendbuf, Number sendcount, Handle sendtype, int destination, int sendtag, void* recvbuf, \
               Number recvcount, Handle recvtype, int source, int recvtag, Handle comm, Last last),                 \
              sendrecv(real, real.name, large,                                                                      \
                       {outgoing(Function::name, sendbuf, sendcount, sendtype, comm), destination, sendtag,         \
                        incoming(Function::name, recvbuf, recvcount, recvtype, comm), source, recvtag},             \
                       last))

#define TEMPI_SENDRECV_REPLACE(name, whole, entry, Number, large, replace, Last)                                      \
  TEMPI_ENTRY(entry,                                                                                                  \
              (void* buffer, Number count, Handle datatype, int destination, int sendtag, int source, int recvtag,    \
               Handle comm, Last last),                                                                               \
              sendrecv_replace(real, real.whole, large,                                                               \
                               {outgoing(Function::name, buffer, count, datatype, comm), destination, sendtag,        \
                                incoming(Function::name, buffer, count, datatype, comm), source, recvtag},            \
                               last, [&] {                                                                            \
                                 return call_if_there(replace, buffer, count, datatype, destination, sendtag, source, \
                                                      recvtag, comm, last);                                           \
                               }))

TEMPI_SENDRECV(MPI_Sendrecv, MPI_Sendrecv, int, decltype(real.MPI_Sendrecv_c){}, MPI_Status*)
TEMPI_SENDRECV(MPI_Sendrecv, MPI_Sendrecv_c, Count, real.MPI_Sendrecv_c, MPI_Status*)
TEMPI_SENDRECV(MPI_Isendrecv, MPI_Isendrecv, int, decltype(real.MPI_Isendrecv_c){}, void*)
TEMPI_SENDRECV(MPI_Isendrecv, MPI_Isendrecv_c, Count, real.MPI_Isendrecv_c, void*)
TEMPI_SENDRECV_REPLACE(MPI_Sendrecv_replace, MPI_Sendrecv, MPI_Sendrecv_replace, int, decltype(real.MPI_Sendrecv_c){},
                       real.MPI_Sendrecv_replace, MPI_Status*)
TEMPI_SENDRECV_REPLACE(MPI_Sendrecv_replace, MPI_Sendrecv, MPI_Sendrecv_replace_c, Count, real.MPI_Sendrecv_c,
                       real.MPI_Sendrecv_replace_c, MPI_Status*)
TEMPI_SENDRECV_REPLACE(MPI_Isendrecv_replace, MPI_Isendrecv, MPI_Isendrecv_replace, int,
                       decltype(real.MPI_Isendrecv_c){}, real.MPI_Isendrecv_replace, void*)
TEMPI_SENDRECV_REPLACE(MPI_Isendrecv_replace, MPI_Isendrecv, MPI_Isendrecv_replace_c, Count, real.MPI_Isendrecv_c,
                       real.MPI_Isendrecv_replace_c, void*)

}  // namespace tempi::interpose
