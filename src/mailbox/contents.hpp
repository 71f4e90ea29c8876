// The memory of a mailbox: offers of its process, which the other processes of the node read and claim.
//
// Glossary
//   offer   a posted receive into whose buffer the sender of its message may write
//   slot    room for one offer
//   line    the messages of one (communicator, source, tag), in the order in which MPI matches them; its receives and
//           its messages are counted from 1 on both sides. Or those of all tags, from a source whose messages are all
//           received with MPI_ANY_TAG: it has no other line on the communicator
//   base    the last number of the communicator that had the line before: the numbers of a line never come again
//   landing memory of the receiver's GPU for the packed bytes of one message: the receiver unpacks it
//   poll    votes of this process before the collective calls of one communicator, and its nonblocking ones
//   course  of the nonblocking calls of one function (course.hpp)
//   claim   the sender's step from "offered" to "claimed": its message is a marker from then on, unless it declines
//
// Invariants
//   The receiver alone writes lines and the fields of slots; both sides change the state of an offer, in a word that
//   holds its number and its line, too: a slot that has been used again differs. Claims, revocations and the sender's
//   taking back are compare-and-swaps; every other step is a store, by the only side that leaves that state (but for
//   the taking back, which the receiver's step to "vacant" may overwrite).
//   A line that is used again has another communicator before its numbers change, and its own one after. A sender reads
//   base and n_posted between two looks at the communicator; if both show its own, so are the two numbers.
//   Fields are read by a sender between its claim and the end of it only.
//   The fields of a slot that change with each message lie in one cache line, and a line has one of its own: each cache
//   line that two processes share costs as much time as the rest of a message's work. The description of a buffer is
//   written once for offers of that buffer that follow each other.
//   From the first place of a key to the line that has it no communicator is 0: an ended line's becomes 0 only where
//   that of the next line is.
//   n_posted is at least n when the receive n is with the library; the slot of an offer n is in its line by then.
//   Plain data of fixed size: processes of different builds agree on it or do not meet (kVersion).
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>

#include "datatype/box.hpp"
#include "device/device.hpp"
#include "mailbox/freed.hpp"

namespace tempi::mailbox {

enum class OfferState : std::uint8_t {
#define TEMPI_OFFER_STATE(name, meaning) name,
#define TEMPI_OFFER_STEP(from, to, actor, cause)
#include "mailbox/offers.def"
#undef TEMPI_OFFER_STATE
#undef TEMPI_OFFER_STEP
};

constexpr bool is_step(OfferState from, OfferState to) {
#define TEMPI_OFFER_STATE(name, meaning)
#define TEMPI_OFFER_STEP(its_from, its_to, actor, cause) \
  if (from == OfferState::its_from && to == OfferState::its_to) return true;
#include "mailbox/offers.def"
#undef TEMPI_OFFER_STATE
#undef TEMPI_OFFER_STEP
  return false;
}

// A regular box (datatype/box.hpp).
struct OfferedBox {
  std::int64_t src_offset, dst_offset, block_bytes;
  std::int32_t n_dims;
  std::array<datatype::Dim, datatype::kMaxBoxDims> dims;
};

inline constexpr std::uint32_t kVersion = 8;
inline constexpr std::size_t kLines = 1024, kSlots = 512, kBoxes = 1 << 14, kClosed = 64, kMemories = 16, kPolls = 256,
                             kCourses = 11, kImports = 1024;
inline constexpr std::size_t kWindow = 16;                 // offers of one line at a time
inline constexpr std::size_t kMostLines = kLines * 3 / 4;  // else looking for a line takes long
inline constexpr std::size_t kMostUnoffered = kLines / 4;  // lines in use when only receives that are offered get one
inline constexpr std::int32_t kAllTags = -1;               // of a line
inline constexpr std::uint64_t kEnded = ~std::uint64_t{0};
inline constexpr std::uint64_t kMostNumber =
    (std::uint64_t{1} << 40) - 1;  // later ones are neither offered nor claimed

// The state of a slot in one word: number << 24 | line << 8 | state.
struct OfferWord {
  std::uint64_t n;
  std::uint16_t line;
  OfferState state;

  std::uint64_t bits() const { return n << 24 | std::uint64_t{line} << 8 | static_cast<std::uint64_t>(state); }
  OfferWord in(OfferState other) const { return {n, line, other}; }
};

struct LineKey {
  std::uint64_t comm;  // 0: none
  std::int32_t source, tag;
  bool operator==(const LineKey&) const = default;
};

inline constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Slot {
  std::atomic<std::uint64_t> word{};
  std::uint64_t buffer = 0;  // names its address, memory and layout; never reused in the receiver's process
  void* own = nullptr;       // for senders in the receiver's process: its Offer
  // Written by the sender between its claim and the end of it.
  std::atomic<std::uint32_t> is_landed{0};        // the bytes go into the landing, packed, not into the buffer
  std::atomic<std::int64_t> landed{0};            // bytes that have arrived there, in packed order
  std::atomic<std::uint32_t> is_out_of_reach{0};  // declined, as the sender's driver does not map the memory
  std::atomic<std::int64_t> written{0};           // bytes of the message, at most those of the buffer

  alignas(kCacheLine) std::uint64_t address = 0;  // of the buffer, in the receiver's process
  std::int64_t bytes = 0;                         // packed
  std::uint64_t layout = 0;                       // names the boxes; never reused in the receiver's process
  std::uint32_t first_box = 0, n_boxes = 0;       // in `boxes`; none: not for other processes
  std::uint64_t landing_address = 0;              // in the receiver's process
  device::SharedAllocation landing{};             // holds the landing; of no bytes: there is none
  std::uint32_t n_memories = 0;                   // allocations that hold the buffer
  std::array<device::SharedAllocation, kMemories> memories{};

  OfferState state() const { return static_cast<OfferState>(word.load(std::memory_order_acquire) & 0xFF); }
  // False: the offer is in another state, or another offer.
  bool step(const OfferWord& from, OfferState to) {
    assert(is_step(from.state, to));
    std::uint64_t expected = from.bits();
    return word.compare_exchange_strong(expected, from.in(to).bits(), std::memory_order_acq_rel);
  }
  // A store, without a locked instruction: for one thread at a time of the only side that leaves the state. Nothing
  // changes if the offer is in another state, or another offer.
  void step_alone(const OfferWord& from, OfferState to) {
    assert(is_step(from.state, to));
    if (word.load(std::memory_order_relaxed) == from.bits()) word.store(from.in(to).bits(), std::memory_order_release);
  }
};

struct alignas(kCacheLine) Line {
  std::atomic<std::uint64_t> comm{};  // written after the rest of the key; 0: free; kEnded: free, others may be behind
  std::atomic<std::int32_t> source{}, tag{};
  std::atomic<std::uint64_t> base{};                        // number of a receive: base + its count
  std::atomic<std::uint64_t> n_posted{};                    // the last number
  std::array<std::atomic<std::uint16_t>, kWindow> slots{};  // the offer n is in slots[n % kWindow]

  LineKey key() const { return {comm.load(std::memory_order_acquire), source.load(), tag.load()}; }
  // The receive n is with the library. The last number does not fall, though a cancelled receive's number comes again:
  // those of the line's next communicator are above all that were used.
  void post(std::uint64_t n) {
    if (n > n_posted.load(std::memory_order_relaxed)) n_posted.store(n, std::memory_order_release);
  }
};
static_assert(sizeof(Line) == kCacheLine);

// The answer to an attempt, in one word. It differs from that of another communicator in a poll that is used again.
struct Answer {
  std::uint64_t comm;
  std::uint64_t attempt;  // below 256
  std::uint8_t value;
  std::uint64_t bits() const { return (comm & ~std::uint64_t{0xFFFF}) | attempt << 8 | value; }
  // True: the word is of this communicator, and of this attempt or a later one.
  bool is_reached_by(std::uint64_t word) const {
    return (word & ~std::uint64_t{0xFFFF}) == (comm & ~std::uint64_t{0xFFFF}) && (word >> 8 & 0xFF) >= attempt;
  }
};
enum class Consent : std::uint8_t { none, refused, given, taken_back, accepted };

// Device memory that the members of a communicator read and write in a reduction (collective/node_reduction.hpp).
struct ReducedBuffer {
  device::SharedAllocation memory;
  std::uint64_t address;  // in its process

  bool is_same(const ReducedBuffer& other) const { return memory.id == other.memory.id && address == other.address; }
};
struct ReducedBuffers {
  ReducedBuffer input, output;  // the output is the input where there is no other
};

// The protocol is in collective/ballot.hpp. Its process alone writes a poll, but for the step from "given" to
// "accepted", and for the courses, which all members change by compare-and-swap.
struct Poll {
  std::atomic<std::uint64_t> comm{};      // 0: vacant; written after the other fields are zero
  std::atomic<std::uint64_t> consent{};   // Answer of a Consent
  std::atomic<std::uint64_t> decision{};  // of the first member: Answer, 1 if all have consented
  std::atomic<std::uint64_t> votes{};     // number << 8 | this vote << 4 | the one before
  std::atomic<std::uint64_t> read{};      // number of the last vote that has been read of all others
  // Nonblocking calls, by function.
  std::array<std::atomic<std::uint64_t>, kCourses> courses{};  // of the first member: bits of a Course
  std::array<std::atomic<std::uint64_t>, kCourses> begun{};    // number of calls << 4 | memory of the last one
  std::atomic<std::uint64_t> settled{};                        // calls of all functions whose way is known
  ReducedBuffers buffers{};                                    // of the last reduction
};

struct Contents {
  std::uint32_t version = kVersion, bytes = sizeof(Contents);
  std::int32_t rank = -1;                 // in MPI_COMM_WORLD
  std::atomic<std::uint32_t> is_open{0};  // the fields above are valid
  std::atomic<std::uint32_t> probes{0};   // the process looks for messages before it receives them
  std::atomic<std::uint32_t> n_lines{0};
  std::array<std::atomic<std::uint64_t>, kClosed> closed{};  // closed_key(): no receive is offered now; 0: none
  std::atomic<std::uint32_t> is_shut{0};                     // none at all are offered any more
  std::array<Line, kLines> lines{};
  std::array<Slot, kSlots> slots{};
  std::array<OfferedBox, kBoxes> boxes{};  // of the layouts of offers
  std::array<Poll, kPolls> polls{};
  std::atomic<std::uint32_t> polls_are_full{0};  // a communicator without a poll will have none
  FreedMemory freed{};                           // what its process has lent
  // Mappings of its process's memory in other processes, which count them, by the allocation's id.
  mutable std::array<std::atomic<std::uint32_t>, kImports> imports{};

  std::atomic<std::uint32_t>& imports_of(std::uint64_t id) const { return imports[id % kImports]; }

  // The line of the key; null: there is none yet.
  Line* find(const LineKey& key);
  // The communicator's lines are free. For the process of the mailbox, one thread at a time.
  void end_lines(std::uint64_t comm);
  // The poll of the communicator; null: there is none yet.
  Poll* find_poll(std::uint64_t comm);
  // True: no receive of this communicator and tag is offered now.
  bool is_closed(std::uint64_t comm, std::int32_t tag) const;
  // False: no receive without a line will be offered.
  bool has_room() const { return n_lines.load(std::memory_order_acquire) < kMostLines; }
  std::uint16_t number_of(const Line& line) const { return static_cast<std::uint16_t>(&line - lines.data()); }
};

// Of a tag, or of all.
inline std::uint64_t closed_key(std::uint64_t comm, std::int32_t tag) {
  return tag == kAllTags ? comm : comm ^ (static_cast<std::uint64_t>(tag) + 1) * 0x9E3779B97F4A7C15u;
}

// The first line that may have the key; the others follow it.
inline std::size_t first_line(const LineKey& key) {
  std::uint64_t mixed = key.comm ^ (static_cast<std::uint64_t>(key.source) << 32 | static_cast<std::uint32_t>(key.tag));
  mixed *= 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed >> 32);
}

}  // namespace tempi::mailbox
