// MPI-4.1, 3.10: send-receive. Each half belongs to the library or to TEMPI, independently of the other.
#include "call/call.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {
namespace {

// `last` is a status, or the place of a request.
constexpr Lifetime lifetime_of(const MPI_Status*) { return Lifetime::call; }
constexpr Lifetime lifetime_of(const void*) { return Lifetime::ours; }

// The library's MPI_Sendrecv or MPI_Isendrecv over given buffers.
template <class Small, class Large, class Last>
int call_exchange(Small small, Large large, const Envelope& to, const Envelope& from, const Given& out, const Given& in,
                  Last last) {
  const auto call = [&](auto fn, auto out_count, auto in_count) {
    return call_if_there(fn, out.address, out_count, out.type, to.peer, to.tag, in.writable(), in_count, in.type,
                         from.peer, from.tag, to.buffer.comm, last);
  };
  return call_form(
      large, to.buffer.comm, {out.count, in.count}, [&] { return call(large, out.count, in.count); },
      [&] { return call(small, static_cast<int>(out.count), static_cast<int>(in.count)); });
}

template <class Small, class Large, class Last>
int sendrecv(const Real& real, Small small, Large large, const Envelope& out, const Envelope& in, Last last) noexcept {
  const auto exchange = [&](const Given& sent, const Given& received, void* at) {
    return call_exchange(small, large, out, in, sent, received, static_cast<Last>(at));
  };
  return run(
      {real, lifetime_of(last), &out, &in, last},
      [&] { return exchange(as_given(out.buffer), as_given(in.buffer), last); }, exchange);
}

// One buffer: if TEMPI packs it, an exchange of two packed buffers; else the library's own call, `replace`.
template <class Small, class Large, class Last, class Replace>
int sendrecv_replace(const Real& real, Small small, Large large, const Envelope& out, const Envelope& in, Last last,
                     const Replace& replace) noexcept {
  const Call call{real, lifetime_of(last), &out, &in, last, false, true};
  return run(call, replace, [&](const Given& sent, const Given& received, void* at) {
    return call_exchange(small, large, out, in, sent, received, static_cast<Last>(at));
  });
}

}  // namespace

// `Number` is the type of counts; `large` the form to call where counts are large, or nullptr.
#define TEMPI_SENDRECV(name, entry, Number, large, Last)                                                            \
  TEMPI_ENTRY(entry,                                                                                                \
              (const void* sendbuf, Number sendcount, Handle sendtype, int destination, int sendtag, void* recvbuf, \
               Number recvcount, Handle recvtype, int source, int recvtag, Handle comm, Last last),                 \
              sendrecv(real, real.name, large,                                                                      \
                       {outgoing(Function::name, sendbuf, sendcount, sendtype, comm), destination, sendtag},        \
                       {incoming(Function::name, recvbuf, recvcount, recvtype, comm), source, recvtag}, last))

#define TEMPI_SENDRECV_REPLACE(name, whole, entry, Number, large, replace, Last)                                       \
  TEMPI_ENTRY(entry,                                                                                                   \
              (void* buffer, Number count, Handle datatype, int destination, int sendtag, int source, int recvtag,     \
               Handle comm, Last last),                                                                                \
              sendrecv_replace(real, real.whole, large,                                                                \
                               {outgoing(Function::name, buffer, count, datatype, comm), destination, sendtag},        \
                               {incoming(Function::name, buffer, count, datatype, comm), source, recvtag}, last, [&] { \
                                 return call_if_there(replace, buffer, count, datatype, destination, sendtag, source,  \
                                                      recvtag, comm, last);                                            \
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
