// The memory of a mailbox, without processes: contents CASE. Prints "well", or the line of the check that fails.
#include "mailbox/contents.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

using namespace tempi::mailbox;

#define CHECK(what) \
  if (!(what)) std::printf("line %d: %s\n", __LINE__, #what), std::exit(1)

static Line& make_line(Contents& box, const LineKey& key) {
  for (std::size_t at = first_line(key);; ++at) {
    Line& line = box.lines[at % kLines];
    if (line.comm.load() != 0 && line.comm.load() != kEnded) continue;
    line.source.store(key.source);
    line.tag.store(key.tag);
    line.comm.store(key.comm);
    return line;
  }
}

// A word tells all numbers that are in use, lines and states apart.
static void words() {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, kMostNumber - 1, kMostNumber}) {
    for (const std::uint16_t line : {0, 1, static_cast<int>(kLines) - 1}) {
      const OfferWord offered{n, line, OfferState::offered};
      CHECK(offered.bits() >> 24 == n);
      CHECK((offered.bits() >> 8 & 0xFFFF) == line);
      CHECK(offered.bits() != offered.in(OfferState::claimed).bits());
      CHECK(offered.bits() != (OfferWord{n - 1, line, OfferState::offered}.bits()));
    }
  }
  // The first number that does not fit looks like 0, which no message has: Meetings close the line before it.
  CHECK((OfferWord{kMostNumber + 1, 5, OfferState::offered}.bits() == OfferWord{0, 5, OfferState::offered}.bits()));
}

// A claim of the last number is good; a slot that has been used again refuses the word of an earlier offer, and so does
// a claim that has ended.
static void claims() {
  Slot slot;
  const OfferWord last{kMostNumber, 7, OfferState::offered};
  slot.word.store(last.in(OfferState::vacant).bits());
  CHECK(slot.step(last.in(OfferState::vacant), OfferState::offered));
  CHECK(!slot.step({kMostNumber - 1, 7, OfferState::offered}, OfferState::claimed));
  CHECK(!slot.step({kMostNumber, 6, OfferState::offered}, OfferState::claimed));
  CHECK(slot.step(last, OfferState::claimed));
  CHECK(!slot.step(last, OfferState::revoked));
  slot.step_alone({kMostNumber - 1, 7, OfferState::claimed}, OfferState::declined);
  slot.step_alone({kMostNumber, 6, OfferState::claimed}, OfferState::declined);
  CHECK(slot.state() == OfferState::claimed);
  slot.step_alone(last.in(OfferState::claimed), OfferState::written);
  CHECK(slot.state() == OfferState::written);
  slot.step_alone(last.in(OfferState::claimed), OfferState::declined);  // it has ended
  CHECK(slot.state() == OfferState::written);
}

// Lines are found in a table that is as full as it gets, and behind ended ones.
static void lines() {
  const auto box = std::make_unique<Contents>();
  const auto key = [](std::size_t k) { return LineKey{9 + k % 3, static_cast<int>(k % 5), static_cast<int>(k)}; };
  for (std::size_t k = 0; k < kMostLines; ++k) make_line(*box, key(k));
  box->n_lines.store(kMostLines);
  for (std::size_t k = 0; k < kMostLines; ++k) CHECK(box->find(key(k))->key() == key(k));
  CHECK(box->find(key(kMostLines)) == nullptr);
  CHECK(!box->has_room());
  for (std::size_t k = 0; k < kMostLines; k += 2) box->find(key(k))->comm.store(kEnded);
  for (std::size_t k = 0; k < kMostLines; ++k) CHECK((box->find(key(k)) == nullptr) == (k % 2 == 0));
}

// Lines of communicators that end do not add up; those that stay are found.
static void ends() {
  const auto box = std::make_unique<Contents>();
  const auto count_used = [&] {
    const auto is_used = [](const Line& line) { return line.comm.load() != 0; };
    box->n_lines.store(static_cast<std::uint32_t>(std::count_if(box->lines.begin(), box->lines.end(), is_used)));
  };
  constexpr int kOthers = 300, kMostKept = 200;
  for (int n_kept = 1; n_kept <= kMostKept; ++n_kept) {
    const auto other = static_cast<std::uint64_t>(1 + n_kept);
    for (int tag = 0; tag < kOthers; ++tag) make_line(*box, {other, 1, tag});
    make_line(*box, {1, 1, -n_kept});  // perhaps behind some of them
    count_used();
    box->end_lines(other);
    for (int tag = 0; tag < kOthers; ++tag) CHECK(box->find({other, 1, tag}) == nullptr);
    for (int tag = 1; tag <= n_kept; ++tag) CHECK(box->find({1, 1, -tag}) != nullptr);
    CHECK(box->n_lines.load() < kOthers / 2 + 2 * static_cast<std::uint32_t>(n_kept));
  }
  box->end_lines(1);
  CHECK(box->n_lines.load() == 0);
}

static void closed() {
  const auto box = std::make_unique<Contents>();
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
  else if (wanted == "lines") lines();
  else if (wanted == "ends") ends();
  else if (wanted == "closed") closed();
  else if (wanted == "freed") freed();
  else return 2;
  std::puts("well");
}
