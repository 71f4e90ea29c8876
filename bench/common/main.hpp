// The main function of every driver: an error ends it with one line and exit code 1.
#pragma once

#include <cstdio>
#include <exception>

namespace tempi::bench {

template <class Run>
int main_of(const char* program, Run run) {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
  return 0;
}

}  // namespace tempi::bench
