#include "measure/message.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "base/counters.hpp"
#include "mpi/real.hpp"
#include "transfer/strategy.hpp"

namespace tempi::measure {
namespace {

using device::MemoryKind;

// The shim's own calls, as a program makes them.
extern "C" {
int shim_send(const void*, int, Handle, int, int, Handle) __asm__("PMPI_Send");
int shim_recv(void*, int, Handle, int, int, Handle, MPI_Status*) __asm__("PMPI_Recv");
int shim_isend(const void*, int, Handle, int, int, Handle, void*) __asm__("PMPI_Isend");
int shim_irecv(void*, int, Handle, int, int, Handle, void*) __asm__("PMPI_Irecv");
int shim_wait(void*, MPI_Status*) __asm__("PMPI_Wait");
int shim_waitall(int, void*, MPI_Status*) __asm__("PMPI_Waitall");
}

constexpr int kTag = 3;  // other than those by which two ends of a measurement talk (pair.hpp)

void message_to_oneself(const void* out, void* in, int count, Handle type, int self) {
  alignas(Handle) std::array<char, 2 * kRequestBytes> requests{};
  std::array<MPI_Status, 2> statuses{};
  check(shim_irecv(in, count, type, self, kTag, comm_world(), requests.data()), "MPI_Irecv");
  check(shim_isend(out, count, type, self, kTag, comm_world(), requests.data() + kRequestBytes), "MPI_Isend");
  check(shim_waitall(2, requests.data(), statuses.data()), "MPI_Waitall");
}

}  // namespace

HostMessage::HostMessage(const Measurement& what, message::Strategy strategy)
    : out_(what, MemoryKind::host),
      in_(what, MemoryKind::host),
      count_(static_cast<int>(what.count)),
      type_(static_cast<Handle>(what.datatype)),
      peer_(what.peer),
      strategy_(strategy) {
  if (out_.is_contiguous()) throw std::runtime_error("contiguous host memory is always the library's");
}

void HostMessage::send(int tag) {
  const message::OnHost chosen(strategy_);
  check(shim_send(out_.data(), count_, type_, peer_, tag, comm_world()), "MPI_Send");
}

int HostMessage::receive() {
  const message::OnHost chosen(strategy_);
  MPI_Status status{};
  check(shim_recv(in_.data(), count_, type_, peer_, MPI_ANY_TAG, comm_world(), &status), "MPI_Recv");
  return status.MPI_TAG;
}

void HostMessage::to_oneself() {
  const message::OnHost chosen(strategy_);
  message_to_oneself(out_.data(), in_.data(), count_, type_, peer_);
}

DirectMessage::DirectMessage(const Measurement& what)
    : out_(what, MemoryKind::device),
      in_(what, MemoryKind::device),
      count_(static_cast<int>(what.count)),
      type_(static_cast<Handle>(what.datatype)),
      peer_(what.peer) {
  if (const std::string option = model::direct_is_off_by(); !option.empty())
    throw std::runtime_error("direct messages are switched off by " + option);
}

void DirectMessage::post() {
  check(shim_irecv(in_.data(), count_, type_, peer_, kTag, comm_world(), request_.data()), "MPI_Irecv");
}

void DirectMessage::send() { check(shim_send(out_.data(), count_, type_, peer_, kTag, comm_world()), "MPI_Send"); }

void DirectMessage::receive() {
  MPI_Status status{};
  check(shim_wait(request_.data(), &status), "MPI_Wait");
}

void DirectMessage::to_oneself() { message_to_oneself(out_.data(), in_.data(), count_, type_, peer_); }

std::uint64_t DirectMessage::n_sent() {
  std::uint64_t n = 0;
  for (const CounterRow& row : counters()) {
    const bool is_sent = row.outcome == Outcome::sent_direct || row.outcome == Outcome::bounced;
    if (row.function == Function::direct && is_sent) n += row.calls;
  }
  return n;
}

}  // namespace tempi::measure
