// A process that publishes its shared segment after another process has searched for it, and that has then mapped
// memory of this process. Prints "well", or the line of the check that fails.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "segment/own_segment.hpp"

using namespace tempi::ipc;

#define CHECK(what) \
  if (!(what)) std::printf("line %d: %s\n", __LINE__, #what), std::exit(1)

constexpr int kRank = 5;

// The child publishes when the parent writes into the pipe, and waits until the parent wakes it.
static int child(const std::string& job, int from_parent, int to_parent) {
  char byte = 0;
  if (::read(from_parent, &byte, 1) != 1 || !OwnSegment::own().publish(job, kRank)) return 1;
  if (::write(to_parent, &byte, 1) != 1) return 2;
  OwnSegment::own().segment().frees.wait();
  return 0;
}

static void importers_are_noted_once() {
  Importers importers;
  for (const int rank : {3, 0, 3, 7, 0}) importers.add(rank);
  std::vector<int> found;
  importers.each([&](int rank) { found.push_back(rank); });
  CHECK((found == std::vector{3, 0, 7}));
  for (int rank = 0; rank < 2 * static_cast<int>(Importers::kMost); ++rank) importers.add(rank);
  int n = 0;
  importers.each([&](int) { ++n; });
  CHECK(n == static_cast<int>(Importers::kMost));
}

int main() {
  importers_are_noted_once();
  const std::string job = "late-" + std::to_string(::getpid());
  int to_child[2], to_parent[2];
  CHECK(::pipe(to_child) == 0 && ::pipe(to_parent) == 0);
  const pid_t other = ::fork();
  ::alarm(20);  // of both processes
  ::close(other == 0 ? to_child[1] : to_child[0]);
  ::close(other == 0 ? to_parent[0] : to_parent[1]);
  if (other == 0) ::_exit(child(job, to_child[0], to_parent[1]));
  CHECK(find_peer_segment(job, kRank) == nullptr);
  CHECK(find_peer_segment(job, kRank) == nullptr);
  char byte = 0;
  CHECK(::write(to_child[1], &byte, 1) == 1 && ::read(to_parent[0], &byte, 1) == 1);
  CHECK(find_peer_segment(job, kRank) == nullptr);  // not searched for: it is rarely there after so long
  Segment* const segment = find_peer_segment(job, kRank, true);
  CHECK(segment != nullptr && segment->rank == kRank);
  CHECK(find_peer_segment(job, kRank) == segment);
  segment->frees.wake();
  int status = 1;
  CHECK(::waitpid(other, &status, 0) == other && status == 0);
  std::puts("well");
}
