#include "transport/ipc/matcher.hpp"

#include <bit>
#include <map>
#include <mutex>

#include "base/call_lock.hpp"
#include "base/launcher.hpp"
#include "base/mutex.hpp"
#include "base/trace.hpp"
#include "peer/ids.hpp"

namespace tempi::message {
namespace {

using ipc::MatchKey;
using ipc::OwnSegment;
using ipc::Segment;

constexpr std::size_t kMostCounts = 4096;  // of a communicator; a program that makes up new tags is not followed

// Match queues of messages to oneself differ from all others by their source.
std::uint64_t next_own_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Of the messages of a match queue that knows no shared segment few ask for one.
bool is_time_to_ask(std::uint64_t n) { return std::has_single_bit(n); }

Segment* segment_of(int rank, int own_rank, std::uint64_t n) {
  if (rank == own_rank) return &OwnSegment::own().segment();
  if (!OwnSegment::own().is_published() || !is_time_to_ask(n) || !peer::is_on_this_node(rank)) return nullptr;
  return ipc::find_peer_segment(ipc::own_job(), rank);
}

struct Registry {
  RecursiveMutex<Lock::matchers> mutex;
  std::map<std::uint64_t, Matcher*> all;  // by name
};

Registry& registry() {
  static auto& the_registry = *new Registry;  // never destroyed: communicators end while the process exits
  return the_registry;
}

}  // namespace

// The match queue of the next one has come meanwhile, and tells its slot.
void Matcher::Sent::fetch_ahead() const {
  if (next == nullptr) return;
  if (next->match_queue != nullptr) {
    const std::uint64_t number = next->match_queue->base.load(std::memory_order_relaxed) + next->n + 1;
    const std::size_t slot = next->match_queue->slots[number % ipc::kWindow].load(std::memory_order_relaxed);
    if (next->match_queue->n_posted.load(std::memory_order_relaxed) >= number)
      __builtin_prefetch(&next->receiver->slots[slot % ipc::kSlots], 1);
  }
  if (next->next != nullptr && next->next->match_queue != nullptr) __builtin_prefetch(next->next->match_queue);
}

Matcher::Matcher(Handle comm)
    : comm_(comm), own_rank_(peer::own_rank()), id_(peer::comm_id(comm)), own_id_(next_own_id()) {
  const CallLock lock(registry().mutex);
  registry().all[own_id_] = this;
  open_->counts = this;
}

Matcher::~Matcher() {
  {
    const CallLock lock(registry().mutex);
    registry().all.erase(own_id_);
  }
  {
    const CallLock lock(open_->mutex);
    for (const OpenReceives::Kind& kind : open_->kinds) {
      if (kind.is_told) tell_ended(kind.tag);
    }
    open_->counts = nullptr;
  }
  OwnSegment::own().end(own_id_);
  if (id_ != 0) OwnSegment::own().end(id_);
}

bool Matcher::is_in_turn(std::atomic<std::thread::id>& user) {
  std::thread::id known = user.load(std::memory_order_relaxed);
  if (known == std::this_thread::get_id()) return true;
  return known == std::thread::id{} && user.compare_exchange_strong(known, std::this_thread::get_id());
}

Matcher::Sent* Matcher::add_sent(int peer, int tag) {
  if (sent_.size() >= kMostCounts) {
    ++sent_to_[peer];
    count_call(Function::direct, Outcome::not_counted, 0);
    return nullptr;
  }
  Sent& sent = sent_.add(key_of(peer, tag));
  sent.rank = peer::rank_in_world(comm_, peer);
  sent.n_of_all_tags = &sent_to_[peer];
  return &sent;
}

void Matcher::look_for_receiver(Sent& sent) const {
  if (may_have_match_queue(sent.rank)) sent.receiver = segment_of(sent.rank, own_rank_, sent.n);
}

Matcher::Sent* Matcher::count_send(int peer, int tag) {
  if (!is_in_turn(sender_)) close_sends(Outcome::ended_by_thread);
  if (!claims()) return nullptr;
  Sent* sent = sent_.find(key_of(peer, tag));
  if (sent == nullptr) sent = add_sent(peer, tag);
  if (sent == nullptr) return nullptr;
  ++sent->n;
  ++*sent->n_of_all_tags;
  if (sent->receiver == nullptr) look_for_receiver(*sent);
  return sent;
}

// 0: the communicator has no name that both ends know.
std::uint64_t Matcher::arrow_of(int source, int target, int tag, std::uint64_t n) const {
  const std::uint64_t id = id_for(source == own_rank_ ? target : source);
  const auto number = [](int value) { return static_cast<std::uint64_t>(value); };
  return id != 0 ? trace::arrow_number({id, number(source), number(target), number(tag), n}) : 0;
}

// The receiver knows the message by its number among those of its tag. With a match queue for MPI_ANY_TAG, it knows the
// message by its number among those of all tags.
std::uint64_t Matcher::arrow_of(const Sent& sent, int tag) const {
  if (!trace::is_on.load(std::memory_order_relaxed) || sent.rank < 0) return 0;
  const bool has_all =
      sent.receiver != nullptr && sent.receiver->find({id_for(sent.rank), own_rank_, ipc::kAllTags}) != nullptr;
  return has_all ? arrow_of(own_rank_, sent.rank, MPI_ANY_TAG, *sent.n_of_all_tags)
                 : arrow_of(own_rank_, sent.rank, tag, sent.n);
}

std::uint64_t Matcher::note_send(int peer, int tag) {
  const Sent* const sent = count_send(peer, tag);
  return sent != nullptr ? arrow_of(*sent, tag) : 0;
}

std::optional<SequencedSend> Matcher::place_send(int peer, int tag) {
  Sent* const sent = count_send(peer, tag);
  if (sent != nullptr) trace::note_send(sent->rank, arrow_of(*sent, tag));
  if (sent == nullptr || sent->receiver == nullptr || *sent->n_of_all_tags > ipc::kMostNumber) return {};
  const MatchKey key{id_for(sent->rank), own_rank_, tag};
  if (sent->match_queue == nullptr) sent->match_queue = sent->receiver->find(key);
  sent->fetch_ahead();
  const bool is_own = sent->rank == own_rank_;
  return SequencedSend{sent->receiver,
                       key,
                       sent->match_queue,
                       sent->n,
                       *sent->n_of_all_tags,
                       sent->rank,
                       is_own,
                       is_never_probed_.load(),
                       are_in_call_.load()};
}

// The first receive from a peer decides the kind of all: with tags, or with MPI_ANY_TAG.
bool Matcher::is_of_other_kind(int peer, int tag) {
  const bool is_any = tag == MPI_ANY_TAG;
  return receives_any_tag_.try_emplace(peer, is_any).first->second != is_any;
}

Received* Matcher::find_received(int peer, int tag) {
  if (Received* const known = received_.find(key_of(peer, tag))) return known;
  if (received_.size() >= kMostCounts) {
    count_call(Function::direct, Outcome::not_counted, 0);
    return nullptr;
  }
  Received& received = received_.add(key_of(peer, tag));
  received.rank = peer::rank_in_world(comm_, peer);
  return &received;
}

void Matcher::look_for_match_queue(Received& received, int tag, bool is_published) const {
  if (!may_have_match_queue(received.rank) || segment_of(received.rank, own_rank_, received.n) == nullptr) return;
  const int match_queue_tag = tag == MPI_ANY_TAG ? ipc::kAllTags : tag;
  received.match_queue =
      OwnSegment::own().match_queue({id_for(received.rank), received.rank, match_queue_tag}, is_published);
  if (received.match_queue != nullptr) received.base = received.match_queue->base.load();
}

bool Matcher::may_publish() {
  if (!is_in_turn(receiver_)) close_receives(Outcome::ended_by_thread);
  return publishes();
}

UndecidedReceivePtr Matcher::begin_undecided(int peer, int tag) {
  return may_publish() ? std::make_shared<UndecidedReceive>(open_, peer, tag, nullptr) : nullptr;
}

UndecidedReceivePtr Matcher::note_cancel(int peer, int tag, Received* received) {
  return may_publish() ? std::make_shared<UndecidedReceive>(open_, peer, tag, received) : nullptr;
}

void Matcher::note_unseen_cancel(Received* received) {
  if (!may_publish()) return;
  const CallLock lock(open_->mutex);
  received->kind = Received::Kind::lost;
  count_call(Function::direct, Outcome::ended_for_tag, 0);
}

Matcher::Place Matcher::place_counted(Received& received, int peer, int tag, bool is_published) {
  Place place{.source = received.rank, .is_own = received.rank == own_rank_};
  place.is_in_doubt = open_->n.load(std::memory_order_acquire) != 0 && open_->may_match(peer, tag);
  ++received.n;
  place.queue_place = {own_id_, &received, ++received.order};
  if (received.match_queue == nullptr) look_for_match_queue(received, tag, is_published);
  received.fetch_ahead();
  place.n = received.number();
  if (place.n <= ipc::kMostNumber) place.match_queue = received.match_queue;
  const bool is_traced = trace::is_on.load(std::memory_order_relaxed) && !place.is_in_doubt && received.rank >= 0;
  const bool is_known = tag >= 0 || received.match_queue != nullptr;  // the sender can compute the same number
  if (is_traced && is_known) place.arrow = arrow_of(received.rank, own_rank_, tag, received.n);
  return place;
}

Matcher::Place Matcher::place_receive(int peer, int tag, bool is_published) {
  if (!may_publish()) return {};
  const bool is_shared = open_->n.load(std::memory_order_acquire) != 0;
  const std::unique_lock lock =
      is_shared ? std::unique_lock(open_->mutex) : std::unique_lock<RecursiveMutex<Lock::open_receives>>();
  if (peer < 0) return {.undecided = begin_undecided(peer, tag)};
  Received* const received = find_received(peer, tag);
  if (received == nullptr) return {.undecided = begin_undecided(peer, tag)};  // in no match queue of its own
  if (received->kind == Received::Kind::unknown)
    received->kind = is_of_other_kind(peer, tag) ? Received::Kind::undecided : Received::Kind::counted;
  if (received->kind == Received::Kind::undecided) return {.undecided = begin_undecided(peer, tag)};
  if (received->kind == Received::Kind::lost) return {};
  return place_counted(*received, peer, tag, is_published);
}

Matcher::Place Matcher::note_receive(int peer, int tag) {
  Place place = place_receive(peer, tag, false);
  if (place.match_queue != nullptr) place.match_queue->post(place.n);
  return place;
}

// In its match queue and that of all tags, whichever its source has. Receives that were posted beside the undecided one
// have their numbers now.
void Matcher::count_matched(int peer, int tag) {
  for (const int either : {tag, int{MPI_ANY_TAG}}) {
    Received* const received = find_received(peer, either);
    if (received == nullptr) continue;
    ++received->n;
    if (received->match_queue != nullptr) received->match_queue->post(received->number());
  }
}

namespace {

// Of receives with this tag, or any.
std::uint64_t closed_key(std::uint64_t comm, int tag) { return ipc::closed_key(comm, tag < 0 ? ipc::kAllTags : tag); }

}  // namespace

bool Matcher::tell_open(int tag) noexcept { return id_ != 0 && OwnSegment::own().close(closed_key(id_, tag)); }

void Matcher::tell_ended(int tag) noexcept {
  if (tag >= 0 || publishes()) OwnSegment::own().reopen(closed_key(id_, tag));
}

void Matcher::close_sends(Outcome why) {
  if (!sends_are_closed_.exchange(true)) count_call(Function::direct, why, 0);
}

void Matcher::close_receives(Outcome why) {
  if (receives_are_closed_.exchange(true)) return;
  count_call(Function::direct, why, 0);
  if (id_ != 0 && !OwnSegment::own().close(id_)) OwnSegment::own().shut();
}

void Matcher::close(Outcome why) {
  close_sends(why);
  close_receives(why);
}

void Matcher::close_all(Outcome why) noexcept {
  const CallLock lock(registry().mutex);
  for (const auto& [name, one] : registry().all) one->close(why);
}

Matcher::Known::Known() {
  if (calls_may_overlap.load(std::memory_order_relaxed)) registry().mutex.lock();
}
Matcher::Known::~Known() {
  if (calls_may_overlap.load(std::memory_order_relaxed)) registry().mutex.unlock();
}

Matcher* Matcher::Known::find(std::uint64_t name) const {
  const auto found = registry().all.find(name);
  return found != registry().all.end() ? found->second : nullptr;
}

Matcher* matcher_on(Handle comm) noexcept {
  return static_cast<Matcher*>(
      peer::attachment(comm, peer::Attached::matcher,
                       [](Handle of) -> std::unique_ptr<peer::Attachment> { return std::make_unique<Matcher>(of); }));
}

}  // namespace tempi::message
