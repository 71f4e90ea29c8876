// Collective calls by messages. The members of a communicator agree once that they carry the blocking calls of
// pattern_of() out by messages of our own, on a communicator of our own: between GPUs these are direct
// (message/direct.hpp), one launch for all of them.
//
// A call is carried out by messages if the memory of a member is that of a GPU, and nobody's is out of reach of direct
// messages: the members vote (ballot.hpp), and having found that a call is the library's, vote less and less often. A
// process without a GPU in use does not agree: programs of the host are left alone.
//
// Invariants
//   Each member counts the same calls: all blocking ones of these patterns on this communicator, whatever their
//   arguments. Its n-th call is carried out in one way by all of them.
//   No member waits for another one that does not come to the same call.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collective/ballot.hpp"
#include "collective/exchange.hpp"
#include "collective/run.hpp"
#include "message/direct.hpp"
#include "peer/peer.hpp"

namespace tempi::collective {

class Agreement final : public peer::Attachment {
 public:
  // Null: its destruction cannot be watched.
  static Agreement* of(Handle comm) noexcept;
  explicit Agreement(const Group& group);

  void communicator_ends() noexcept override;

  // Nothing: the call is the library's on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

 private:
  // Calls of one function that are the library's without a vote.
  struct Gap {
    std::uint64_t length = 0, left = 0;
  };

  bool is_agreed(Handle comm);
  void make_comm(Handle comm);
  bool is_between_votes(Gap& gap);
  unsigned vote(Gap& gap, unsigned own);
  Exchange& exchange_for(const Call& call, const Group& group, const Ends& ends);
  struct Prepared {
    Exchange* exchange;
    unsigned memory;
    std::optional<int> refusal{};  // the code of the library, which has told the error handler
  };
  Prepared prepare(const Call& call, const Group& group, const Ends& ends) noexcept;
  std::optional<int> carry_out_agreed(const Call& call, const Group& group, const Ends& ends);

  std::optional<Ballot> ballot_{};  // none: no agreement is possible
  std::uint64_t n_calls_ = 0;
  Handle comm_ = 0;  // of our messages
  bool has_comm_ = false;
  std::optional<Neighborhood> neighbors_{};
  std::array<Gap, static_cast<std::size_t>(Function::count_)> gaps_{};
  std::vector<std::unique_ptr<Exchange>> exchanges_;  // the last one used first
};

// The call may be carried out by messages: it must be counted.
inline bool is_counted(Function function) noexcept {
  return pattern_of(function) != Pattern::none && message::notes_messages();
}

}  // namespace tempi::collective
