// Four chunks in two lanes. With TEMPI_FAKE_FAIL=finish:1 the first lane loses its work behind the second chunk. Prints
// the outcomes of each chunk and of the wait for all, and what has arrived.
#include "pack/chunk_lanes.hpp"

#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "device/fake/fake.hpp"

using namespace tempi::device;

const char* tempi::device::name(MemoryKind) { return ""; }  // device.cpp has them, which needs a configured build
void Scope::settle() const noexcept try { finish(); } catch (...) {
}

static const char* outcome_of(const auto& action) {
  try {
    action();
    return "done";
  } catch (const tempi::Error&) {
    return "failed";
  }
}

int main() {
  Device& device = *fake_device();
  const Context context = device.primary(0);
  auto* const source = static_cast<char*>(fake_allocate(MemoryKind::pinned, 0, 5));
  auto* const target = static_cast<char*>(fake_allocate(MemoryKind::pinned, 0, 5));
  std::memcpy(source, "abcd", 5);
  std::memcpy(target, "----", 5);
  tempi::pack::ChunkLanes lanes(device, context);
  const auto queue = [&](int k) {
    const auto copy = [=](const Scope& here) { here.copy(target + k, source + k, 1); };
    std::printf("%s, ", outcome_of([&] { lanes.queue({k, k + 1, copy}); }));
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
