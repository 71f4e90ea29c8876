// All interleavings of members that come to nonblocking calls: courses MEMBERS CALLS. Prints "well" and the number of
// states that were looked at, or the calls of which two members have found different ways.
//
// A member's steps in a call are those of Consensus::path_of_next (src/collective/consensus.cpp): it tells its number
// and its wish; loads the course; if it is first there, loads each member's number and wish, one by one; exchanges the
// course, or starts again from the one that has come between.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "segment/path_record.hpp"

using tempi::ipc::PathRecord;

namespace {

constexpr int kMostMembers = 3, kMostCalls = 4;
int n_members, n_calls;

enum class At : unsigned char { start, load, look, exchange, ended };

struct Member {
  At at = At::start;
  unsigned char call = 0, looked = 0, slowest = 0;
  bool wants = false;
  std::uint64_t seen = 0;
  auto operator<=>(const Member&) const = default;
};

struct State {
  std::uint64_t path_record = 0;
  std::array<unsigned char, kMostMembers> begun{};
  std::array<bool, kMostMembers> wish{};
  std::array<Member, kMostMembers> members{};
  std::array<signed char, kMostCalls + 1> way{};  // 1: by messages, -1: by the library, 0: nobody knows
  auto operator<=>(const State&) const = default;
};

// The member knows the way of its call.
void settle(State& state, Member& member, const PathRecord& path_record) {
  const signed char way = path_record.at(member.call) ? 1 : -1;
  signed char& known = state.way[member.call];
  if (known != 0 && known != way) {
    std::printf("two ways in call %d\n", member.call);
    std::exit(1);
  }
  known = way;
  member = Member{member.call == n_calls ? At::ended : At::start, member.call};
}

void look_at_course(State& state, Member& member, std::uint64_t bits) {
  member.seen = bits;
  const PathRecord path_record = PathRecord::of(bits);
  if (path_record.has(member.call)) return settle(state, member, path_record);
  member.at = At::look;
  member.looked = 0;
  member.slowest = member.call;
  member.wants = false;
}

void step(State& state, int i) {
  Member& member = state.members[i];
  if (member.at == At::start) {
    state.begun[i] = ++member.call;
    member.at = At::load;
  } else if (member.at == At::load) {
    look_at_course(state, member, state.path_record);
  } else if (member.at == At::look) {
    member.slowest = std::min(member.slowest, state.begun[member.looked]);
    member.wants = member.wants || state.wish[member.looked];
    if (++member.looked == n_members) member.at = At::exchange;
  } else if (state.path_record != member.seen) {
    look_at_course(state, member, state.path_record);
  } else {
    const PathRecord next = PathRecord::of(member.seen).extended(member.call, member.wants, member.slowest);
    state.path_record = next.bits();
    settle(state, member, next);
  }
}

// A member that begins a call has either wish.
void add_next(const State& state, int i, std::vector<State>& open) {
  const bool begins = state.members[i].at == At::start;
  for (const bool wish : {false, true}) {
    State next = state;
    if (begins) next.wish[i] = wish;
    step(next, i);
    open.push_back(next);
    if (!begins) return;
  }
}

}  // namespace

int main(int, char** arguments) {
  n_members = std::atoi(arguments[1]);
  n_calls = std::atoi(arguments[2]);
  std::set<State> seen;
  std::vector<State> open{State{}};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    if (!seen.insert(state).second) continue;
    for (int i = 0; i < n_members; ++i) {
      if (state.members[i].at != At::ended) add_next(state, i, open);
    }
  }
  std::printf("well %zu\n", seen.size());
}
