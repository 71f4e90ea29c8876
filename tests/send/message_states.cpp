// For each pair of states, prints if a message may take that step, and if a build with assertions lets it.
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "request/state.hpp"

using namespace tempi::message;

namespace {

struct Row {
  const char* name;
  MessageState state;
};

constexpr Row kRows[] = {
#define TEMPI_STATE(name, completion, invariant) {#name, MessageState::name},
#define TEMPI_STEP(from, to, functions, cause)
#include "request/states.def"
};

// The steps to a state, by breadth.
std::vector<MessageState> way_to(MessageState wanted) {
  std::vector<std::vector<MessageState>> ways{{}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const MessageState at = ways[i].empty() ? MessageState::inactive : ways[i].back();
    if (at == wanted) return ways[i];
    for (const Row& next : kRows) {
      if (!is_step(at, next.state) || ways[i].size() > std::size(kRows)) continue;
      ways.push_back(ways[i]);
      ways.back().push_back(next.state);
    }
  }
  return {};
}

// Runs in a child process, which an assertion ends.
bool is_let(MessageState from, MessageState to) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    StateMachine machine;
    for (const MessageState next : way_to(from)) machine.become(next);
    machine.become(to);
    _exit(machine.now() == to ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main() {
  for (const Row& from : kRows) {
    for (const Row& to : kRows) {
      std::printf("%s %s %d %d\n", from.name, to.name, is_step(from.state, to.state), is_let(from.state, to.state));
      std::fflush(stdout);
    }
  }
}
