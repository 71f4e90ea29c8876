#include "message/meetings.hpp"

#include <bit>
#include <mutex>
#include <set>

#include "base/call_lock.hpp"
#include "base/launcher.hpp"
#include "peer/ids.hpp"

namespace tempi::message {
namespace {

using mailbox::Contents;
using mailbox::LineKey;
using mailbox::Mailbox;

constexpr std::size_t kMostCounts = 4096;  // of a communicator; a program that makes up new tags is not followed

// Lines of messages to oneself differ from all others by their source.
std::uint64_t next_own_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Of the messages of a line that knows no mailbox few ask for one.
bool is_time_to_ask(std::uint64_t n) { return std::has_single_bit(n); }

Contents* mailbox_of(int rank, int own_rank, std::uint64_t n) {
  if (rank == own_rank) return &Mailbox::own().contents();
  if (!Mailbox::own().is_published() || !is_time_to_ask(n) || !peer::is_on_this_node(rank)) return nullptr;
  return mailbox::find_neighbour(own_job(), rank);
}

struct Registry {
  std::mutex mutex;
  std::set<Meetings*> all;
};

Registry& registry() {
  static auto& the_registry = *new Registry;  // never destroyed: communicators end while the process exits
  return the_registry;
}

}  // namespace

const std::string& own_job() {
  static const std::string job = job_on_node();
  return job;
}

// The line of the next one has come meanwhile, and tells its slot.
void Meetings::Sent::fetch_ahead() const {
  if (next == nullptr) return;
  if (next->line != nullptr) {
    const std::uint64_t number = next->line->base.load(std::memory_order_relaxed) + next->n + 1;
    const std::size_t slot = next->line->slots[number % mailbox::kWindow].load(std::memory_order_relaxed);
    if (next->line->n_posted.load(std::memory_order_relaxed) >= number)
      __builtin_prefetch(&next->receiver->slots[slot % mailbox::kSlots], 1);
  }
  if (next->next != nullptr && next->next->line != nullptr) __builtin_prefetch(next->next->line);
}

Meetings::Meetings(Handle comm)
    : comm_(comm), own_rank_(peer::own_rank()), id_(peer::comm_id(comm)), own_id_(next_own_id()) {
  const CallLock lock(registry().mutex);
  registry().all.insert(this);
}

Meetings::~Meetings() {
  {
    const CallLock lock(registry().mutex);
    registry().all.erase(this);
  }
  Mailbox::own().end(own_id_);
  if (id_ != 0) Mailbox::own().end(id_);
}

bool Meetings::is_in_turn(std::atomic<std::thread::id>& user) {
  std::thread::id known = user.load(std::memory_order_relaxed);
  if (known == std::this_thread::get_id()) return true;
  return known == std::thread::id{} && user.compare_exchange_strong(known, std::this_thread::get_id());
}

Meetings::Sent* Meetings::add_sent(int peer, int tag) {
  if (sent_.size() >= kMostCounts) {
    close_sends();
    return nullptr;
  }
  Sent& sent = sent_.add(key_of(peer, tag));
  sent.rank = peer::rank_in_world(comm_, peer);
  sent.n_of_all_tags = &sent_to_[peer];
  return &sent;
}

void Meetings::look_for_receiver(Sent& sent) const {
  if (may_have_line(sent.rank)) sent.receiver = mailbox_of(sent.rank, own_rank_, sent.n);
}

Meetings::Sent* Meetings::count_send(int peer, int tag) {
  if (!is_in_turn(sender_)) close_sends();
  if (!claims()) return nullptr;
  Sent* sent = sent_.find(key_of(peer, tag));
  if (sent == nullptr) sent = add_sent(peer, tag);
  if (sent == nullptr) return nullptr;
  ++sent->n;
  ++*sent->n_of_all_tags;
  if (sent->receiver == nullptr) look_for_receiver(*sent);
  return sent;
}

std::optional<Turn> Meetings::place_send(int peer, int tag) {
  Sent* const sent = count_send(peer, tag);
  if (sent == nullptr || sent->receiver == nullptr || *sent->n_of_all_tags > mailbox::kMostNumber) return {};
  const LineKey key{id_for(sent->rank), own_rank_, tag};
  if (sent->line == nullptr) sent->line = sent->receiver->find(key);
  sent->fetch_ahead();
  const bool is_own = sent->rank == own_rank_;
  return Turn{sent->receiver,       key,        sent->line, sent->n,
              *sent->n_of_all_tags, sent->rank, is_own,     is_never_probed_.load()};
}

// The first receive from a peer decides the kind of all: with tags, or with MPI_ANY_TAG.
bool Meetings::is_of_other_kind(int peer, int tag) {
  const bool is_any = tag == MPI_ANY_TAG;
  return receives_any_tag_.try_emplace(peer, is_any).first->second != is_any;
}

Meetings::Received* Meetings::add_received(int peer, int tag) {
  if (received_.size() >= kMostCounts || is_of_other_kind(peer, tag)) {
    close_receives();
    return nullptr;
  }
  Received& received = received_.add(key_of(peer, tag));
  received.rank = peer::rank_in_world(comm_, peer);
  return &received;
}

void Meetings::look_for_line(Received& received, int tag, bool is_offered) const {
  if (!may_have_line(received.rank) || mailbox_of(received.rank, own_rank_, received.n) == nullptr) return;
  const int line_tag = tag == MPI_ANY_TAG ? mailbox::kAllTags : tag;
  received.line = Mailbox::own().line({id_for(received.rank), received.rank, line_tag}, is_offered);
  if (received.line != nullptr) received.base = received.line->base.load();
}

Meetings::Received* Meetings::count_receive(int peer, int tag, bool is_offered) {
  if (!is_in_turn(receiver_)) close_receives();
  if (!offers()) return nullptr;
  Received* received = received_.find(key_of(peer, tag));
  if (received == nullptr) received = add_received(peer, tag);
  if (received == nullptr) return nullptr;
  ++received->n;
  if (received->line == nullptr) look_for_line(*received, tag, is_offered);
  received->fetch_ahead();
  return received->number() <= mailbox::kMostNumber ? received : nullptr;
}

void Meetings::note_receive(int peer, int tag) {
  const Received* const received = count_receive(peer, tag, false);
  if (received == nullptr || received->line == nullptr) return;
  received->line->n_posted.store(received->number(), std::memory_order_release);
}

Meetings::Place Meetings::place_receive(int peer, int tag, bool is_offered) {
  const Received* const received = count_receive(peer, tag, is_offered);
  if (received == nullptr) return {};
  return {received->line, received->number(), received->rank, received->rank == own_rank_};
}

void Meetings::close_receives() {
  if (!receives_are_closed_.exchange(true) && id_ != 0) Mailbox::own().close(id_);
}

void Meetings::close() {
  close_sends();
  close_receives();
}

void Meetings::close_all() noexcept {
  const CallLock lock(registry().mutex);
  for (Meetings* const one : registry().all) one->close();
}

Meetings* meetings_on(Handle comm) noexcept {
  return static_cast<Meetings*>(
      peer::attachment(comm, peer::Attached::meetings,
                       [](Handle of) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Meetings>(of); }));
}

}  // namespace tempi::message
