// The memory of a shared segment, without processes: segment CASE. Prints "well", or the line of the check that
// fails.
#include "segment/segment.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

using namespace tempi::ipc;

#define CHECK(what) \
  if (!(what)) std::printf("line %d: %s\n", __LINE__, #what), std::exit(1)

static MatchQueue& make_line(Segment& box, const MatchKey& key) {
  for (std::size_t at = first_match_queue(key);; ++at) {
    MatchQueue& match_queue = box.match_queues[at % kMatchQueues];
    if (match_queue.comm.load() != 0 && match_queue.comm.load() != kEnded) continue;
    match_queue.source.store(key.source);
    match_queue.tag.store(key.tag);
    match_queue.comm.store(key.comm);
    return match_queue;
  }
}

// A word tells all numbers that are in use, match queues and states apart.
static void words() {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, kMostNumber - 1, kMostNumber}) {
    for (const std::uint16_t match_queue : {0, 1, static_cast<int>(kMatchQueues) - 1}) {
      const PublishedWord published{n, match_queue, PublishedState::published};
      CHECK(published.bits() >> 24 == n);
      CHECK((published.bits() >> 8 & 0xFFFF) == match_queue);
      CHECK(published.bits() != published.in(PublishedState::claimed).bits());
      CHECK(published.bits() != (PublishedWord{n - 1, match_queue, PublishedState::published}.bits()));
    }
  }
  // The first number that does not fit looks like 0, which no message has: Matcher close the match queue before it.
  CHECK((PublishedWord{kMostNumber + 1, 5, PublishedState::published}.bits() ==
         PublishedWord{0, 5, PublishedState::published}.bits()));
}

// A claim of the last number is good; a slot that has been used again refuses the word of an earlier published receive,
// and so does a claim that has ended.
static void claims() {
  Slot slot;
  const PublishedWord last{kMostNumber, 7, PublishedState::published};
  slot.word.store(last.in(PublishedState::vacant).bits());
  CHECK(slot.step(last.in(PublishedState::vacant), PublishedState::published));
  CHECK(!slot.step({kMostNumber - 1, 7, PublishedState::published}, PublishedState::claimed));
  CHECK(!slot.step({kMostNumber, 6, PublishedState::published}, PublishedState::claimed));
  CHECK(slot.step(last, PublishedState::claimed));
  CHECK(!slot.step(last, PublishedState::revoked));
  slot.step_alone({kMostNumber - 1, 7, PublishedState::claimed}, PublishedState::declined);
  slot.step_alone({kMostNumber, 6, PublishedState::claimed}, PublishedState::declined);
  CHECK(slot.state() == PublishedState::claimed);
  slot.step_alone(last.in(PublishedState::claimed), PublishedState::written);
  CHECK(slot.state() == PublishedState::written);
  slot.step_alone(last.in(PublishedState::claimed), PublishedState::declined);  // it has ended
  CHECK(slot.state() == PublishedState::written);
}

// Match queues are found in a table that is as full as it gets, and behind ended ones.
static void match_queues() {
  const auto box = std::make_unique<Segment>();
  const auto key = [](std::size_t k) { return MatchKey{9 + k % 3, static_cast<int>(k % 5), static_cast<int>(k)}; };
  for (std::size_t k = 0; k < kMostMatchQueues; ++k) make_line(*box, key(k));
  box->n_match_queues.store(kMostMatchQueues);
  for (std::size_t k = 0; k < kMostMatchQueues; ++k) CHECK(box->find(key(k))->key() == key(k));
  CHECK(box->find(key(kMostMatchQueues)) == nullptr);
  CHECK(!box->has_room());
  for (std::size_t k = 0; k < kMostMatchQueues; k += 2) box->find(key(k))->comm.store(kEnded);
  for (std::size_t k = 0; k < kMostMatchQueues; ++k) CHECK((box->find(key(k)) == nullptr) == (k % 2 == 0));
}

// Match queues of communicators that end do not add up; those that stay are found.
static void ends() {
  const auto box = std::make_unique<Segment>();
  const auto count_used = [&] {
    const auto is_used = [](const MatchQueue& match_queue) { return match_queue.comm.load() != 0; };
    box->n_match_queues.store(
        static_cast<std::uint32_t>(std::count_if(box->match_queues.begin(), box->match_queues.end(), is_used)));
  };
  constexpr int kOthers = 300, kMostKept = 200;
  for (int n_kept = 1; n_kept <= kMostKept; ++n_kept) {
    const auto other = static_cast<std::uint64_t>(1 + n_kept);
    for (int tag = 0; tag < kOthers; ++tag) make_line(*box, {other, 1, tag});
    make_line(*box, {1, 1, -n_kept});  // perhaps behind some of them
    count_used();
    box->end_match_queues(other);
    for (int tag = 0; tag < kOthers; ++tag) CHECK(box->find({other, 1, tag}) == nullptr);
    for (int tag = 1; tag <= n_kept; ++tag) CHECK(box->find({1, 1, -tag}) != nullptr);
    CHECK(box->n_match_queues.load() < kOthers / 2 + 2 * static_cast<std::uint32_t>(n_kept));
  }
  box->end_match_queues(1);
  CHECK(box->n_match_queues.load() == 0);
}

static void closed() {
  const auto box = std::make_unique<Segment>();
  CHECK(!box->is_closed(3, 0));
  box->closed.back().store(closed_key(3, kAllTags));
  CHECK(box->is_closed(3, 0));
  CHECK(box->is_closed(3, 1));
  CHECK(!box->is_closed(4, 0));
  box->closed.back().store(closed_key(3, 1));
  CHECK(!box->is_closed(3, 0));
  CHECK(box->is_closed(3, 1));
  box->is_shut.store(1);
  CHECK(box->is_closed(4, 0));
}

// Ids come once and in order; whoever looks too rarely is told that some are missing.
static void freed() {
  FreedMemory memory;
  std::uint64_t seen = 0, next = 1;
  const auto look = [&] { return memory.each_since(seen, [&](std::uint64_t id) { CHECK(id == next++); }); };
  CHECK(look() && next == 1);
  std::uint64_t id = 0;
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, FreedMemory::kKept - 1}) {
    for (std::size_t k = 0; k < n; ++k) memory.add(++id);
    CHECK(look() && next == id + 1 && seen == memory.count());
  }
  for (const std::size_t n : {FreedMemory::kKept, FreedMemory::kKept + 1, 3 * FreedMemory::kKept}) {
    for (std::size_t k = 0; k < n; ++k) memory.add(++id);
    next = id + 1 - FreedMemory::kKept;
    CHECK(!look() && next == id + 1);
    CHECK(look());
  }
}

int main(int count, char** arguments) {
  const std::string_view wanted = count > 1 ? arguments[1] : "";
  if (wanted == "words") words();
  else if (wanted == "claims") claims();
  else if (wanted == "lines") match_queues();
  else if (wanted == "ends") ends();
  else if (wanted == "closed") closed();
  else if (wanted == "freed") freed();
  else return 2;
  std::puts("well");
}
