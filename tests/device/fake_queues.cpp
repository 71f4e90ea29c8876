// Two queues of the fake device, one behind a mark of the other: fake_queues. With TEMPI_FAKE_FAIL=finish:1 the first
// is lost before the mark. Prints the outcome of the work behind it.
#include <cstdio>

#include "fake_program.hpp"

using namespace tempi::device;

int main() {
  Device& device = *fake_device();
  const Context context = device.primary(0);
  char* const source = pinned_copy("arrived");
  char* const target = pinned_copy("nothing");
  void* const between = fake_allocate(MemoryKind::device, 0, 8);

  MarkPtr first, second;
  {
    const Scope copies(device, context, Lane::second);
    copies.copy(between, source, 8);
    first = copies.mark();
  }
  {
    const Scope kernels(device, context, Lane::first);
    kernels.wait_for(*first);
    kernels.copy(target, between, 8);
    second = kernels.mark();
  }
  const auto finish = [&](Lane lane) { return outcome_of([&] { Scope(device, context, lane).finish(); }); };
  const char* const finished_first = finish(Lane::second);
  const char* const reached = outcome_of([&] { second->wait(); });
  const char* const finished_second = finish(Lane::first);
  std::printf("first %s, mark %s, second %s, %s\n", finished_first, reached, finished_second, target);
  return 0;
}
