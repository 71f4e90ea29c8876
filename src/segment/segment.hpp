// The memory of a shared segment: published receives of its process, which the other processes of the node read and
// claim.
//
// Glossary
//   published receive  a posted receive into whose buffer the sender of its message may write
//   slot               the memory of one published receive
//   match queue        the messages of one (communicator, source, tag), in the order in which MPI matches them. Both
//                      sides count its receives and messages from 1. If all messages from a source are received with
//                      MPI_ANY_TAG, the source has one match queue for all tags on the communicator
//   base               the last number that an earlier communicator has used in the memory of this match queue. The
//                      numbers of the present communicator begin after it, so that no number is used twice
//   bounce buffer      memory on the receiver's GPU for the packed bytes of one message; the receiver unpacks it
//   board              the votes of this process before the collective calls of one communicator, and data of its
//                      nonblocking calls
//   reduction board    the votes and buffers of this process in one pending reduction of this communicator
//   window board       the part of this process in a window over GPU memory, and the lock words of this part
//   attached memory    GPU memory of this process that is attached to a dynamic window
//   path record        the path of the nonblocking calls of one function (segment/path_record.hpp)
//   claim              the sender's step from "published" to "claimed": after it, the message is a FIN message, unless
//                      the sender declines
//
// Invariants
//   Only the receiver writes match queues and the fields of slots. Both sides change the state of a published receive.
//   The word of the state also contains the number and the match queue, so that a reused slot has another word. Claims,
//   revocations, and the step by which the sender takes back a claim are compare-and-swaps. Every other step is a store
//   by the only side that leaves this state. (One exception: both sides leave the state "written". The sender may take
//   back its claim, and the receiver may overwrite this state with "vacant".)
//   When a match queue is reused, its communicator is changed to another value before its numbers change, and is set to
//   the new communicator after that. A sender reads the communicator, then base and n_posted, then the communicator
//   again. If both reads return its communicator, the two numbers are valid.
//   A sender reads the fields of a slot only between its claim and the end of the claim.
//   The fields of a slot that change with each message are in one cache line, and each match queue has its own cache
//   line, because a cache line that two processes share costs as much time as the rest of a message's work. The
//   description of a buffer is written once for consecutive published receives of this buffer.
//   Open addressing: the probe sequence of a key ends at the first place whose communicator is 0. Therefore, the
//   communicator of an ended match queue becomes 0 only if that of the next match queue is 0.
//   The receiver stores the slot of a published receive n in the match queue before n_posted reaches n. Therefore, a
//   sender that reads n_posted >= n finds this slot.
//   Plain data of fixed size. Processes of builds with another layout do not find each other (kVersion).
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

#include "base/page.hpp"
#include "datatype/box.hpp"
#include "device/device.hpp"
#include "segment/arrivals.hpp"
#include "segment/attached_memory.hpp"
#include "segment/channel_entry.hpp"
#include "segment/freed_memory.hpp"
#include "segment/window_board.hpp"

namespace tempi::ipc {

enum class PublishedState : std::uint8_t {
#define TEMPI_PUBLISHED_STATE(name, meaning) name,
#define TEMPI_PUBLISHED_STEP(from, to, actor, cause)
#include "segment/published_receives.def"
#undef TEMPI_PUBLISHED_STATE
#undef TEMPI_PUBLISHED_STEP
};

constexpr bool is_step(PublishedState from, PublishedState to) {
#define TEMPI_PUBLISHED_STATE(name, meaning)
#define TEMPI_PUBLISHED_STEP(its_from, its_to, actor, cause) \
  if (from == PublishedState::its_from && to == PublishedState::its_to) return true;
#include "segment/published_receives.def"
#undef TEMPI_PUBLISHED_STATE
#undef TEMPI_PUBLISHED_STEP
  return false;
}

// A regular box (datatype/box.hpp).
struct PublishedBox {
  std::int64_t src_offset, dst_offset, block_bytes;
  std::int32_t n_dims;
  std::array<datatype::Dim, datatype::kMaxBoxDims> dims;
};

inline constexpr std::uint32_t kVersion = 16;
inline constexpr std::size_t kMatchQueues = 1024, kSlots = 512, kBoxes = 1 << 14, kClosed = 64, kMemories = 16,
                             kBoards = 256, kPathRecords = 21, kPendingReductions = 40, kImports = 1 << 16,
                             kChannels = 1024, kWindows = 128, kAttached = 1024;
inline constexpr std::size_t kWindow = 16;  // published receives of one match queue at a time
inline constexpr std::size_t kMostMatchQueues = kMatchQueues * 3 / 4;  // else looking for a match queue takes long
inline constexpr std::size_t kMostUnpublished =
    kMatchQueues / 4;                         // from so many match queues on, only published receives get a new one
inline constexpr std::int32_t kAllTags = -1;  // of a match queue
inline constexpr std::uint64_t kEnded = ~std::uint64_t{0};
inline constexpr std::uint64_t kMostNumber =
    (std::uint64_t{1} << 40) - 1;  // later ones are neither published nor claimed

// The state of a slot in one word: number << 24 | match queue << 8 | state.
struct PublishedWord {
  std::uint64_t n;
  std::uint16_t match_queue;
  PublishedState state;

  std::uint64_t bits() const { return n << 24 | std::uint64_t{match_queue} << 8 | static_cast<std::uint64_t>(state); }
  PublishedWord in(PublishedState other) const { return {n, match_queue, other}; }
};

struct MatchKey {
  std::uint64_t comm;  // 0: none
  std::int32_t source, tag;
  bool operator==(const MatchKey&) const = default;
};

inline constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Slot {
  std::atomic<std::uint64_t> word{};
  std::uint64_t buffer = 0;  // number of this buffer (address, memory and layout); never reused in this process
  void* own = nullptr;       // for sends of the process to itself: the PublishedReceive
  // The sender writes these fields between its claim and the end of the claim.
  std::atomic<std::uint32_t> is_bounced{0};         // the bytes go packed into the bounce buffer
  std::atomic<std::int64_t> bounced{0};             // bytes that have arrived there, in packed order
  std::atomic<std::uint32_t> is_not_importable{0};  // the sender declined, because its driver cannot map the memory
  std::atomic<std::int64_t> written{0};             // bytes of the message, at most those of the buffer

  alignas(kCacheLine) std::uint64_t address = 0;  // of the buffer, in the receiver's process
  std::int64_t bytes = 0;                         // packed
  std::uint64_t layout = 0;                       // number of the list of boxes; never reused in this process
  std::uint32_t first_box = 0, n_boxes = 0;       // in Segment::boxes; 0 boxes: only this process may send directly
  std::uint64_t bounce_address = 0;               // in the receiver's process
  device::SharedAllocation bounce_buffer{};       // the allocation of the bounce buffer; 0 bytes: there is none
  std::uint32_t n_memories = 0;                   // allocations that hold the buffer
  std::array<device::SharedAllocation, kMemories> memories{};

  PublishedState state() const { return static_cast<PublishedState>(word.load(std::memory_order_acquire) & 0xFF); }
  // False: the published receive is in another state, or the slot has another published receive.
  bool step(const PublishedWord& from, PublishedState to) {
    assert(is_step(from.state, to));
    std::uint64_t expected = from.bits();
    return word.compare_exchange_strong(expected, from.in(to).bits(), std::memory_order_acq_rel);
  }
  // A store, without a locked instruction. Only the side that leaves the state may call it, one thread at a time. It
  // has no effect if the published receive is in another state, or the slot has another published receive.
  void step_alone(const PublishedWord& from, PublishedState to) {
    assert(is_step(from.state, to));
    if (word.load(std::memory_order_relaxed) == from.bits()) word.store(from.in(to).bits(), std::memory_order_release);
  }
};

struct alignas(kCacheLine) MatchQueue {
  std::atomic<std::uint64_t> comm{};  // written after the rest of the key; 0: free; kEnded: free, a search goes on
  std::atomic<std::int32_t> source{}, tag{};
  std::atomic<std::uint64_t> base{};                        // number of a receive: base + its count
  std::atomic<std::uint64_t> n_posted{};                    // the last number
  std::array<std::atomic<std::uint16_t>, kWindow> slots{};  // the published receive n is in slots[n % kWindow]

  MatchKey key() const { return {comm.load(std::memory_order_acquire), source.load(), tag.load()}; }
  // The receive n is posted to the library. The last number never decreases, although the number of a cancelled receive
  // is used again. Therefore, the numbers of the next communicator are larger than all numbers that were used.
  void post(std::uint64_t n) {
    if (n > n_posted.load(std::memory_order_relaxed)) n_posted.store(n, std::memory_order_release);
  }
};
static_assert(sizeof(MatchQueue) == kCacheLine);

// The answer to a round, in one word. The word contains the communicator, because another communicator may have used
// the board before.
struct Answer {
  std::uint64_t comm;
  std::uint64_t round;  // below 256
  std::uint8_t value;
  std::uint64_t bits() const { return (comm & ~std::uint64_t{0xFFFF}) | round << 8 | value; }
  // True: the word is of this communicator, and of this round or a later one.
  bool is_reached_by(std::uint64_t word) const {
    return (word & ~std::uint64_t{0xFFFF}) == (comm & ~std::uint64_t{0xFFFF}) && (word >> 8 & 0xFF) >= round;
  }
};
enum class Proposal : std::uint8_t { none, refused, given, taken_back, accepted };

// Device memory that the members of a communicator read and write in a reduction (collective/node_reduction.hpp).
struct ReducedBuffer {
  device::SharedAllocation memory;
  std::uint64_t address;  // in its process

  bool is_same(const ReducedBuffer& other) const { return memory.id == other.memory.id && address == other.address; }
};
struct ReducedBuffers {
  ReducedBuffer input, output;  // the output is the input where there is no other
};

// The protocol is in collective/reduction_votes.hpp.
struct ReductionBoard {
  std::atomic<std::uint64_t> votes{};   // number of the reduction << 16 | stage << 12 | the votes of each stage
  std::atomic<std::uint64_t> ticket{};  // of the first member: number << 32 | place among the calls of the library
  ReducedBuffers buffers{};
};

using ReductionBoards = std::array<ReductionBoard, kPendingReductions>;

// The protocol is in collective/consensus.hpp. Only the process of the board writes it, with two exceptions: the first
// member makes the step from "given" to "accepted", and all members change the path records by compare-and-swap.
struct Board {
  std::atomic<std::uint64_t> comm{};      // 0: vacant; written after the other fields are zero
  std::atomic<std::uint64_t> proposal{};  // Answer of a Proposal
  std::atomic<std::uint64_t> decision{};  // of the first member: Answer, 1 if all have proposed
  std::atomic<std::uint64_t> votes{};     // number << 8 | this vote << 4 | the one before
  std::atomic<std::uint64_t> read{};      // number of the last vote; its process has read it on all boards
  // Nonblocking calls, by function.
  std::array<std::atomic<std::uint64_t>, kPathRecords> path_records{};  // of the first member: bits of a PathRecord
  std::array<std::atomic<std::uint64_t>, kPathRecords> begun{};         // number of calls << 4 | vote for the last one
  std::atomic<std::uint64_t> settled{};                                 // calls with a known path, of all functions
  ReducedBuffers buffers{};                                             // of the last blocking reduction
  std::atomic<std::uint64_t> n_reductions_ended{};                      // the process has read their votes
};

struct Segment {
  std::uint32_t version = kVersion, bytes = sizeof(Segment);
  std::int32_t rank = -1;                 // in MPI_COMM_WORLD
  std::atomic<std::uint32_t> is_open{0};  // the fields above are valid
  std::atomic<std::uint32_t> probes{0};   // the process probes for messages before it receives them
  std::atomic<std::uint32_t> n_match_queues{0};
  std::array<std::atomic<std::uint64_t>, kClosed> closed{};  // closed_key(): no receive is published now; 0: none
  std::atomic<std::uint32_t> is_shut{0};                     // none at all are published
  std::atomic<std::uint32_t> has_failed{0};  // a GPU of the process has failed: its channels run no more kernels
  std::array<MatchQueue, kMatchQueues> match_queues{};
  std::array<Slot, kSlots> slots{};
  std::array<PublishedBox, kBoxes> boxes{};  // of the layouts of published receives
  std::array<Board, kBoards> boards{};
  std::array<ReductionBoards, kBoards>
      reduction_boards{};                         // of each board; separate, because few communicators use them
  std::atomic<std::uint32_t> boards_are_full{0};  // a communicator without a board will have none
  // The ends of channels, and for each the hash of its key; 0: vacant.
  std::array<std::atomic<std::uint64_t>, kChannels> channel_hashes{};
  std::array<ChannelEntry, kChannels> channels{};
  std::array<WindowBoard, kWindows> windows{};
  std::atomic<std::uint32_t> n_attached{0};  // entries behind these have never been used
  std::array<AttachedMemory, kAttached> attached{};
  // Bits of ArrivedRun. A partitioned receive has a word for each partition of its sender. GPUs of the senders write
  // them, so they begin at a page.
  alignas(kPageBytes) Arrivals arrivals{};
  FreedMemory freed{};            // memory that its process has exported, and that the program has freed
  mutable Importers importers{};  // of memory of its process
  SharedSemaphore frees{};        // another process has freed memory that this one may have mapped
  // The number of mappings of each allocation of its process in other processes, by the allocation's id. The other
  // processes change it.
  mutable std::array<std::atomic<std::uint32_t>, kImports> imports{};

  std::atomic<std::uint32_t>& imports_of(std::uint64_t id) const { return imports[id % kImports]; }

  // The match queue of the key; null: there is none yet.
  MatchQueue* find(const MatchKey& key);
  // Makes the match queues of the communicator free. Only the process of the shared segment calls it, one thread at a
  // time.
  void end_match_queues(std::uint64_t comm);
  // The board of the communicator; null: there is none yet.
  Board* find_board(std::uint64_t comm);
  // The board of the window; null: there is none.
  WindowBoard* find_window(std::uint64_t id);
  // Memory attached to the window that overlaps the range, in the address space of the process of the segment.
  std::optional<AttachedRange> find_attached(std::uint64_t window, std::uint64_t begin, std::uint64_t end) const;
  // True: no receive of this communicator and tag is published now.
  bool is_closed(std::uint64_t comm, std::int32_t tag) const;
  // False: no receive without a match queue will be published.
  bool has_room() const { return n_match_queues.load(std::memory_order_acquire) < kMostMatchQueues; }
  ReductionBoards& reductions_of(const Board& board) {
    return reduction_boards[static_cast<std::size_t>(&board - boards.data())];
  }
  std::uint16_t number_of(const MatchQueue& match_queue) const {
    return static_cast<std::uint16_t>(&match_queue - match_queues.data());
  }
};

// The entry in Segment::closed for one tag, or for all tags (kAllTags).
inline std::uint64_t closed_key(std::uint64_t comm, std::int32_t tag) {
  return tag == kAllTags ? comm : comm ^ (static_cast<std::uint64_t>(tag) + 1) * 0x9E3779B97F4A7C15u;
}

// The first match queue that may have the key; the others follow it.
inline std::uint64_t hash_of(const MatchKey& key) {
  const auto ends = static_cast<std::uint64_t>(key.source) << 32 | static_cast<std::uint32_t>(key.tag);
  return (key.comm ^ ends) * 0x9E3779B97F4A7C15u;
}
inline std::size_t first_match_queue(const MatchKey& key) { return static_cast<std::size_t>(hash_of(key) >> 32); }

}  // namespace tempi::ipc
