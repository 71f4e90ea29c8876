// Four chunks in two lanes. With TEMPI_FAKE_FAIL=finish:1 the first lane loses its work behind the second chunk. Prints
// the outcomes of each chunk and of the wait for all, and what has arrived.
#include "pack/chunk_lanes.hpp"

#include <cstdio>

#include "fake_program.hpp"

using namespace tempi::device;

int main() {
  Device& device = *fake_device();
  const Context context = device.primary(0);
  char* const source = pinned_copy("arrived");
  char* const target = pinned_copy("nothing");
  tempi::pack::ChunkLanes lanes(device, context);
  const auto queue = [&](int k) {
    const auto copy = [=](const Scope& here) { here.copy(target + 2 * k, source + 2 * k, 2); };
    std::printf("%s, ", outcome_of([&] { lanes.queue(copy); }));
  };
  queue(0);
  queue(1);
  static_cast<void>(outcome_of([&] { Scope(device, context, Lane::first).finish(); }));  // somebody else's failure
  queue(2);
  queue(3);
  const char* const all = outcome_of([&] { lanes.join()->wait(); });
  lanes.wait();
  std::printf("all %s: %s\n", all, target);
  return 0;
}
