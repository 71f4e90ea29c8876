// A program and its child, which tell each other plain values.
#pragma once

#include <cstdlib>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace child {

inline int line = -1;  // to the other process

// As fork(), from which on both have their end of the line.
inline pid_t connected_fork() {
  int lines[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, lines) != 0) std::abort();
  const pid_t child = ::fork();
  ::close(lines[child == 0 ? 0 : 1]);
  line = lines[child == 0 ? 1 : 0];
  return child;
}

template <class T>
void tell(const T& value) {
  if (::write(line, &value, sizeof value) != sizeof value) std::abort();
}
template <class T>
T hear() {
  T value{};
  if (::read(line, &value, sizeof value) != sizeof value) std::exit(3);  // the other process has ended
  return value;
}
inline void hear_its_end() {
  for (int value = 0; ::read(line, &value, sizeof value) > 0;) {
  }
}

}  // namespace child
