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

// From one buffer of GPU memory to another: straight, if the receive is posted first. Its calls name the other rank and
// the tag, since a wildcard would end the published receives of the communicator.
class DirectMessage {
 public:
  explicit DirectMessage(const Measurement& what);

  void post();  // a receive
  void send();
  void receive();  // the end of the one that was posted
  void to_oneself();

  // Those of this process that were written straight into the receiver's buffer, so far.
  static std::uint64_t n_sent();

 private:
  Typed out_, in_;
  int count_;
  Handle type_;
  int peer_;
  alignas(Handle) std::array<char, kRequestBytes> request_{};
};

}  // namespace tempi::measure
