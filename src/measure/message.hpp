// Messages of derived datatypes, sent by the calls of an ordinary program. The functions of both classes throw
// std::runtime_error.
#pragma once

#include <array>

#include "measure/memory.hpp"
#include "mpi/handle.hpp"

namespace tempi::measure {

// From one buffer of host memory to another, by the shim's calls and the strategy asked for.
class HostMessage {
 public:
  HostMessage(const Measurement& what, message::Strategy strategy);

  void send(int tag);
  int receive();  // returns the tag
  void to_oneself();

 private:
  Typed out_, in_;
  int count_;
  Handle type_;
  int peer_;
  message::Strategy strategy_;
};

// A message from one buffer of GPU memory to another. It is direct if the receive is posted first.
// The receives have no wildcards, because TEMPI does not publish receives while a wildcard receive
// is pending.
class DirectMessage {
 public:
  explicit DirectMessage(const Measurement& what);

  void post();  // a receive
  void send();
  void receive();  // waits for the posted receive
  void to_oneself();

  // The number of direct messages that this process has sent so far, those through a bounce buffer
  // included.
  static std::uint64_t n_sent();

 private:
  Typed out_, in_;
  int count_;
  Handle type_;
  int peer_;
  alignas(Handle) std::array<char, kRequestBytes> request_{};
};

}  // namespace tempi::measure
