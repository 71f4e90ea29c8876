#include "collective/consensus.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/mutex.hpp"
#include "collective/blocks.hpp"
#include "collective/wait_until.hpp"
#include "peer/peer.hpp"
#include "segment/path_record.hpp"

namespace tempi::collective {
namespace {

using ipc::Board;
using ipc::OwnSegment;
using ipc::PathRecord;
using ipc::Proposal;
using ipc::Segment;

ipc::Answer answer(std::uint64_t comm, std::uint64_t round, Proposal proposal) {
  return {comm, round, static_cast<std::uint8_t>(proposal)};
}

// Boards of communicators that have ended; other members may not have read their last votes.
class Retired {
 public:
  static Retired& get() {
    static auto& retired = *new Retired;  // never destroyed: communicators end while the process exits
    return retired;
  }

  void add(Board& board, std::vector<Board*>&& others) {
    const std::lock_guard lock(mutex_);
    all_.push_back({&board, std::move(others), board.comm.load()});
  }
  void give_back_what_is_read() {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const One& one) {
      if (!one.is_read()) return false;
      OwnSegment::own().give_back(*one.board);
      return true;
    });
  }

 private:
  struct One {
    Board* board;
    std::vector<Board*> others;
    std::uint64_t comm;
    bool is_read() const {
      const std::uint64_t n_votes = board->read.load(), n_settled = board->settled.load();
      const std::uint64_t n_reductions = board->n_reductions_ended.load();
      return std::all_of(others.begin(), others.end(), [&](const Board* other) {
        return other->comm.load() != comm || (other->read.load() >= n_votes && other->settled.load() >= n_settled &&
                                              other->n_reductions_ended.load() >= n_reductions);
      });
    }
  };

  Mutex<Lock::votes> mutex_;
  std::vector<One> all_;
};

}  // namespace

Consensus::Consensus(Handle comm, std::uint64_t id, int rank, int size)
    : comm_(comm),
      id_(id),
      rank_(static_cast<std::size_t>(rank)),
      members_(static_cast<std::size_t>(size)),
      boards_(members_.size()) {
  Retired::get().give_back_what_is_read();
  own_ = OwnSegment::own().take_board(id);
  members_[rank_] = &OwnSegment::own().segment();
  boards_[rank_] = own_;
}

// Whoever still looks for the proposal of a member that has not agreed finds no board of the communicator, and gives
// up.
Consensus::~Consensus() {
  if (own_ == nullptr) return;
  if (is_agreed_) Retired::get().add(*own_, std::move(boards_));
  else OwnSegment::own().give_back(*own_);
}

bool Consensus::finds_members() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] != nullptr) continue;
    const int in_world = peer::rank_in_world(comm_, static_cast<int>(i));
    if (in_world < 0 || !peer::is_on_this_node(in_world)) return false;
    members_[i] = ipc::find_peer_segment(ipc::own_job(), in_world);
    if (members_[i] == nullptr) return false;
  }
  return true;
}

// Null: there is none (yet).
Board* Consensus::board_of(std::size_t member) {
  Board*& board = boards_[member];
  if (board == nullptr || board->comm.load(std::memory_order_acquire) != id_) board = members_[member]->find_board(id_);
  return board;
}

// True: the member has written an answer of the round, or will not.
bool Consensus::has_answered(std::size_t member, std::uint64_t round, Word word) {
  const bool is_full = members_[member]->boards_are_full.load(std::memory_order_acquire) != 0;
  const Board* const board = board_of(member);
  if (board == nullptr) return is_full;
  return ipc::Answer{id_, round, 0}.is_reached_by((board->*word).load(std::memory_order_acquire));
}

bool Consensus::agrees(std::uint64_t round, bool is_willing, std::chrono::milliseconds lasts) {
  is_agreed_ = own_ != nullptr && is_willing && finds_members();
  if (own_ == nullptr || members_.size() == 1) return is_agreed_;
  const Proposal proposal = is_agreed_ ? Proposal::given : Proposal::refused;
  own_->proposal.store(answer(id_, round, proposal).bits(), std::memory_order_release);
  if (rank_ == 0) is_agreed_ = decide(round, is_agreed_, lasts);
  else is_agreed_ = is_agreed_ && await_decision(round, lasts);
  return is_agreed_;
}

// Waits for the member's proposal, and accepts it.
bool Consensus::has_proposed(std::size_t member, std::uint64_t round, std::chrono::milliseconds lasts) {
  wait_until(Clock::now() + lasts, [&] { return has_answered(member, round, &Board::proposal); });
  Board* const board = board_of(member);
  if (board == nullptr) return false;
  std::uint64_t given = answer(id_, round, Proposal::given).bits();
  return board->proposal.compare_exchange_strong(given, answer(id_, round, Proposal::accepted).bits());
}

bool Consensus::decide(std::uint64_t round, bool is_agreed, std::chrono::milliseconds lasts) {
  for (std::size_t i = 1; i < members_.size() && is_agreed; ++i) is_agreed = has_proposed(i, round, lasts);
  own_->decision.store(ipc::Answer{id_, round, std::uint8_t{is_agreed}}.bits(), std::memory_order_release);
  return is_agreed;
}

bool Consensus::await_decision(std::uint64_t round, std::chrono::milliseconds lasts) {
  const auto is_decided = [&] { return has_answered(0, round, &Board::decision); };
  wait_until(Clock::now() + lasts, is_decided);
  std::uint64_t given = answer(id_, round, Proposal::given).bits();
  if (own_->proposal.compare_exchange_strong(given, answer(id_, round, Proposal::taken_back).bits())) return false;
  // It has decided "no" if it has ended the communicator meanwhile: after "yes" it waits for all members.
  wait_until(Clock::time_point::max(), [&] { return board_of(0) == nullptr || is_decided(); });
  const Board* const first = board_of(0);
  if (first == nullptr || first->decision.load() != ipc::Answer{id_, round, 1}.bits()) return false;
  return wait_until(Clock::time_point::max(), [&] {
    for (std::size_t i = 0; i < boards_.size(); ++i) {
      if (board_of(i) == nullptr) return false;
    }
    return true;
  });
}

unsigned Consensus::joined(unsigned own) {
  const std::uint64_t n = ++n_votes_;
  unsigned all = own;
  own_->votes.store(n << 8 | std::uint64_t{own} << 4 | (own_->votes.load() >> 4 & 0xF), std::memory_order_release);
  for (const Board* const board : boards_) {
    std::uint64_t votes = 0;
    wait_until(Clock::time_point::max(), [&] {
      votes = board->votes.load(std::memory_order_acquire);
      return votes >> 8 >= n;
    });
    all |= static_cast<unsigned>(votes >> (votes >> 8 == n ? 4 : 0)) & 0xF;
  }
  own_->read.store(n, std::memory_order_release);
  return all;
}

bool Consensus::path_of_next(std::size_t function, unsigned own, FunctionRef<bool(unsigned)> wants) {
  const std::uint64_t n = ++n_begun_[function];
  own_->begun[function].store(n << 4 | own, std::memory_order_release);
  std::atomic<std::uint64_t>& shared = boards_.front()->path_records[function];
  std::uint64_t bits = shared.load(std::memory_order_acquire);
  for (PathRecord path_record = PathRecord::of(bits); !path_record.has(n); path_record = PathRecord::of(bits)) {
    unsigned all = 0;
    std::uint64_t slowest = n;
    for (const Board* const board : boards_) {
      const std::uint64_t begun = board->begun[function].load(std::memory_order_acquire);
      all |= static_cast<unsigned>(begun & 0xF);
      slowest = std::min(slowest, begun >> 4);
    }
    const std::uint64_t next = path_record.extended(n, wants(all), slowest).bits();
    if (shared.compare_exchange_strong(bits, next)) bits = next;
  }
  own_->settled.store(++n_settled_, std::memory_order_release);
  return PathRecord::of(bits).at(n);
}

}  // namespace tempi::collective
