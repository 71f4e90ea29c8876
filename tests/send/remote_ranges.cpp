// Addresses of another process: which of them meet. Prints "well", or the line of the check that fails.
#include <cstdio>
#include <cstdlib>

#include "sharing/imports.hpp"

using tempi::message::RemoteRange;

#define CHECK(what) \
  if (!(what)) std::printf("line %d: %s\n", __LINE__, #what), std::exit(1)

int main() {
  constexpr std::uint64_t kBlock = 2 << 20;
  const tempi::ipc::Segment* const owner = nullptr;
  const auto* const other_owner = reinterpret_cast<const tempi::ipc::Segment*>(64);
  const auto context = reinterpret_cast<tempi::device::Context>(8);
  const RemoteRange range{owner, nullptr, 4 * kBlock + 512, 4 * kBlock + 1024};
  CHECK(range.overlaps({owner, nullptr, 4 * kBlock + 1023, 5 * kBlock}));
  CHECK(range.overlaps({owner, context, 4 * kBlock, 4 * kBlock + 513}));
  CHECK(!range.overlaps({owner, nullptr, 4 * kBlock + 1024, 5 * kBlock}));
  CHECK(!range.overlaps({owner, nullptr, 4 * kBlock, 4 * kBlock + 512}));
  CHECK(!range.overlaps({other_owner, nullptr, range.begin, range.end}));
  CHECK(range.touches({owner, nullptr, 4 * kBlock, 4 * kBlock + 512}));
  CHECK(range.touches({owner, context, 5 * kBlock - 1, 9 * kBlock}));
  CHECK(!range.touches({owner, nullptr, 5 * kBlock, 6 * kBlock}));
  CHECK(!range.touches({owner, nullptr, 3 * kBlock, 4 * kBlock}));
  CHECK(!range.touches({other_owner, nullptr, range.begin, range.end}));
  std::puts("well");
}
