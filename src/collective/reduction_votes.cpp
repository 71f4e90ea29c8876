#include "collective/reduction_votes.hpp"

namespace tempi::collective {
namespace {

constexpr unsigned kVoteBits = 4, kStageBits = 12, kNumberBits = 16;

// "Ended" has no vote.
unsigned place_of(ReductionStage stage) { return (static_cast<unsigned>(stage) - 1) * kVoteBits; }

// Of two of one place, the later one is larger.
std::uint64_t progress(std::uint64_t n, ReductionStage stage) {
  return n << (kNumberBits - kStageBits) | static_cast<std::uint64_t>(stage);
}

}  // namespace

bool ReductionVotes::have_all_reached(std::uint64_t n, ReductionStage stage) const {
  for (std::size_t i = 0; i < consensus_.size(); ++i) {
    if (board(i).votes.load(std::memory_order_acquire) >> kStageBits < progress(n, stage)) return false;
  }
  return true;
}

bool ReductionVotes::may_begin(std::uint64_t n) const {
  return n == 1 || have_all_reached(n - 1, ReductionStage::ended);
}

void ReductionVotes::vote(std::uint64_t n, ReductionStage stage, unsigned own) {
  std::atomic<std::uint64_t>& votes = board(consensus_.rank()).votes;
  const bool is_first = stage == ReductionStage::described;
  const std::uint64_t before = is_first ? 0 : votes.load(std::memory_order_relaxed) & ((1U << kStageBits) - 1);
  votes.store(progress(n, stage) << kStageBits | before | std::uint64_t{own} << place_of(stage),
              std::memory_order_release);
}

std::optional<unsigned> ReductionVotes::joined(std::uint64_t n, ReductionStage stage) const {
  if (!have_all_reached(n, stage)) return {};
  unsigned all = 0;
  for (std::size_t i = 0; i < consensus_.size(); ++i) {
    all |= static_cast<unsigned>(board(i).votes.load(std::memory_order_acquire) >> place_of(stage)) & 0xF;
  }
  return all;
}

// Its votes stay: another member may not have read them.
void ReductionVotes::end(std::uint64_t n) {
  vote(n, ReductionStage::ended, 0);
  consensus_.note_reduction_ended();
}

void ReductionVotes::give_ticket(std::uint64_t n, std::uint64_t ticket) {
  board(0).ticket.store(n << 32 | ticket, std::memory_order_release);
}

std::optional<std::uint64_t> ReductionVotes::ticket(std::uint64_t n) const {
  const std::uint64_t given = board(0).ticket.load(std::memory_order_acquire);
  if (given >> 32 != (n & 0xFFFF'FFFF)) return {};
  return given & 0xFFFF'FFFF;
}

}  // namespace tempi::collective
