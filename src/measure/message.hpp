// A message of a derived datatype in host memory, as a program's own calls send it.
#pragma once

#include "measure/memory.hpp"

namespace tempi::measure {

// From one buffer to another, by the shim's calls and the strategy asked for. Its calls throw std::runtime_error.
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

}  // namespace tempi::measure
