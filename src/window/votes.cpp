#include "window/votes.hpp"

#include <atomic>

#include "collective/group.hpp"
#include "peer/ids.hpp"

namespace tempi::window {
namespace {

constexpr std::uint64_t kIdOfVotes = 0x57'494e'444f'5753;  // joined to the communicator's
constexpr std::chrono::hours kPatience{1};                 // the call is collective: a member may come late
static_assert(collective::Consensus::kMostMembers <= ipc::kWindowMembers);

std::uint64_t mixed(std::uint64_t id, std::uint64_t n) {
  const std::uint64_t bits = (id ^ n * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return (bits ^ bits >> 31) | 1;  // neither vacant nor taken
}

// Windows of this process alone.
std::uint64_t next_own_id() {
  static std::atomic<std::uint64_t> last{0};
  return mixed(kIdOfVotes, ++last);
}

}  // namespace

WindowVotes* WindowVotes::of(Handle comm) {
  const bool is_alone = collective::Group(comm).size == 1;
  if (!is_alone && !ipc::has_segment()) return nullptr;
  auto* const votes = static_cast<WindowVotes*>(peer::attachment(
      comm, peer::Attached::windows,
      [](Handle one) -> std::unique_ptr<peer::Attachment> { return std::make_unique<WindowVotes>(one); }));
  return votes != nullptr && votes->are_held() ? votes : nullptr;
}

WindowVotes::WindowVotes(Handle comm) : is_alone_(collective::Group(comm).size == 1) {
  const collective::Group group(comm);
  id_ = group.is_inter ? 0 : peer::comm_id(comm);
  if (is_alone_ || id_ == 0 || group.size > collective::Consensus::kMostMembers) return;
  consensus_.emplace(comm, id_ ^ kIdOfVotes, group.rank, group.size);
}

bool WindowVotes::are_held() {
  if (is_alone_) return true;
  if (!are_held_) are_held_ = consensus_ && consensus_->agrees(1, true, kPatience);
  return *are_held_;
}

std::uint64_t WindowVotes::next_id() noexcept {
  return is_alone_ ? next_own_id() : mixed(id_ ^ kIdOfVotes, ++n_windows_);
}

}  // namespace tempi::window
