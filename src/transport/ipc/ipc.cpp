#include "transport/ipc/ipc.hpp"

#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/options.hpp"
#include "peer/ids.hpp"
#include "request/message.hpp"
#include "sharing/exports.hpp"
#include "transport/ipc/bounce_buffer.hpp"
#include "transport/ipc/channel.hpp"
#include "transport/ipc/library_requests.hpp"
#include "transport/ipc/open_matcher.hpp"
#include "transport/ipc/partitions.hpp"
#include "transport/ipc/publishing.hpp"
#include "transport/ipc/put.hpp"
#include "transport/ipc/state.hpp"
#include "transport/ipc/untouched.hpp"
#include "transport/ipc/watched_peers.hpp"

namespace tempi::message {
namespace {

using ipc::OwnSegment;

IpcState& posted_state(Transfer& transfer) {
  if (!transfer.state) transfer.state = std::make_unique<IpcState>();
  return state_of(transfer);
}

Opened open() noexcept {
  revoke_freed.store(PublishedReceive::revoke_in);
  const bool may_be_direct = model::direct_is_wanted() && device::may_come();
  ipc::has_open_segment.store(peer::counts_creations() && may_be_direct);
  if (ipc::has_segment()) OwnSegment::own().publish(job_on_node(), peer::own_rank());
  return {.counts_messages = peer::counts_creations() && (may_be_direct || !text(Option::TRACE).empty()),
          .may_put = ipc::has_segment()};
}

void close() noexcept {
  if (!ipc::has_open_segment.exchange(false)) return;
  tell_of_failures();
  OwnSegment::own().withdraw();
}

// ---- a receive

void post_receive(Message& message) noexcept try {
  Transfer& transfer = message.ins.first();
  IpcState& state = posted_state(transfer);
  state.published_receive = nullptr;
  state.queue_place = {};
  transfer.arrow = 0;
  Matcher* const all = open_matcher(message.comm);
  if (all == nullptr) return;
  const bool may_be_published = transfer.packed_buffer.may_be_direct();
  Matcher::Place place = all->place_receive(transfer.peer, transfer.tag, may_be_published);
  state.queue_place = place.queue_place;
  transfer.arrow = place.arrow;
  if (may_be_published && place.undecided) count_direct(Outcome::from_any_source, transfer.packed_buffer.bytes());
  message.undecided = std::move(place.undecided);
  if (place.match_queue == nullptr) return;
  if (may_be_published && place.is_in_doubt) count_direct(Outcome::undecided, transfer.packed_buffer.bytes());
  state.published_receive = may_be_published && !place.is_in_doubt ? make_published_receive(place, transfer) : nullptr;
  if (state.published_receive) OwnSegment::own().note_unprobed();
  if (state.published_receive) state.published_receive->counted_by = all;
  else place.match_queue->post(place.n);
} catch (...) {
  close_after(caught_error(), message.comm);
}

void posted(Message& message, bool is_well) noexcept {
  Transfer& transfer = message.ins.first();
  if (!transfer.state) return;
  const IpcState& state = state_of(transfer);
  if (!is_well) close_matcher(message.comm, Outcome::ended_by_failure);
  else if (state.published_receive && state.published_receive->post())
    count_direct(Outcome::published, transfer.packed_buffer.bytes());
  library_requests().note(message.request, {false, state.queue_place});  // for MPI_Cancel by another thread
}

// A send of this process gives its receive a bounce buffer at any time until its claim ends.
bool unpack_arrived(Transfer& transfer) noexcept {
  const PublishedReceivePtr published_receive = state_of(transfer).published_receive;
  return published_receive && !published_receive->is_own() && published_receive->bounce_buffer &&
         published_receive->is_open() && published_receive->unpack_arrived();
}

std::optional<pack::Queued> queue_rest(Transfer& transfer) {
  const PublishedReceivePtr& published_receive = state_of(transfer).published_receive;
  const bool has_begun = published_receive && !published_receive->is_own() && published_receive->bounce_buffer &&
                         published_receive->bounce_buffer->has_begun();
  return has_begun ? std::optional(published_receive->bounce_buffer->queue_rest()) : std::nullopt;
}

Arrival end_receive(Transfer& transfer, bool has_come) noexcept {
  IpcState& state = state_of(transfer);
  PublishedReceivePtr published_receive = std::exchange(state.published_receive, nullptr);
  const bool is_written = published_receive && published_receive->end_it(has_come);
  if (published_receive && published_receive->failure)
    return {Arrival::How::lost, 0, {}, std::move(published_receive->failure)};
  if (!is_written) return {};
  const std::int64_t bytes = published_receive->written_bytes();
  if (published_receive->slot().is_bounced.load(std::memory_order_relaxed) == 0) {
    if (published_receive.use_count() == 1 && published_receive->may_be_kept())
      state.last_published_receive = std::move(published_receive);
    return {Arrival::How::written, bytes};
  }
  const pack::End packed = published_receive->bounce_buffer->end();
  state.published_receive = std::move(published_receive);
  return {Arrival::How::bounced, bytes, packed};
}

void release_bounced(Transfer& transfer) noexcept { state_of(transfer).published_receive.reset(); }

// ---- a send

// With the lock of the requests: a second thread that closes the matcher waits for claimed sends.
Match post_send(Handle comm, Transfer& transfer, bool may_write) noexcept try {
  IpcState& state = posted_state(transfer);
  state.put.reset();
  state.sequenced.reset();
  Matcher* const all = open_matcher(comm);
  if (all == nullptr) return {};
  const std::optional<SequencedSend> sequenced = all->place_send(transfer.peer, transfer.tag);
  const bool is_claimed = may_write && transfer.packed_buffer.may_be_direct();
  if (!sequenced || !is_claimed || !lies_on_one_gpu(transfer.packed_buffer)) return {};
  state.sequenced = sequenced;
  return {Match::How::unmatched};
} catch (...) {
  close_after(caught_error(), comm);
  return {};
}

void note_send_request(const Message& message) noexcept {
  const Matcher* const counts = known_matcher(message.comm);
  library_requests().note(message.request, {true, {counts != nullptr ? counts->name() : 0}});
}

Receiver receiver(const Transfer& transfer) noexcept {
  const SequencedSend& sequenced = *state_of(transfer).sequenced;
  return {sequenced.receiver, ipc::hash_of(sequenced.key), sequenced.is_probed(), sequenced.has_come};
}

Match match(Transfer& transfer, bool is_next) noexcept {
  IpcState& state = state_of(transfer);
  const ClaimedMatch found = find_match(*state.sequenced, is_next);
  if (found.matched == MatchResult::unmatched) return {Match::How::unmatched};
  if (found.matched == MatchResult::claimed) state.put = write_to(*state.sequenced, found.claim, transfer);
  if (!state.put) return {};
  return {Match::How::put, state.put->own == nullptr, goes_in_chunks(*state.put)};
}

// ---- a put

pack::Member put(Transfer& transfer) noexcept {
  const Put& its = *state_of(transfer).put;
  return {&its.box_move, &its.owner, its.own == nullptr};
}

pack::Queued queue_its_chunks(Transfer& transfer) {
  return queue_chunks(*state_of(transfer).put, transfer.packed_buffer);
}

void report_arrived(Transfer& transfer, bool waits) { tell_arrived(*state_of(transfer).put, waits); }

std::shared_ptr<const void> end_put(Transfer& transfer, PutEnd how) noexcept {
  IpcState& state = state_of(transfer);
  std::shared_ptr<Put> its = std::move(state.put);
  state.last_claim = its->claim;
  if (how == PutEnd::dropped) return nullptr;  // declined
  conclude(*its, how == PutEnd::written);
  if (how == PutEnd::packed) return its;
  its->imported.let_go();
  if (!its->bounces) state.last_put = std::move(its);
  return nullptr;
}

void retry_put(Transfer& transfer) {
  const std::shared_ptr<Put> its = std::move(state_of(transfer).put);
  write_again(*its, transfer);
}

void take_back(Transfer& transfer) noexcept { state_of(transfer).last_claim.take_back(); }

void forget_buffer(Transfer& transfer) noexcept { state_of(transfer).forget_buffer(); }

}  // namespace

constinit const Transport ipc_transport{
    .name = "ipc",
    .open = open,
    .close = close,
    .progress = look_after_shared_memory,
    .can_reach = peer::is_on_this_node,
    .note = untouched::note,
    .note_request = untouched::note_request,
    .note_start = untouched::note_start,
    .note_free = untouched::note_free,
    .note_probe = untouched::note_probe,
    .note_matched_probe = untouched::note_matched_probe,
    .promise_no_probes = untouched::promise_no_probes,
    .note_all_in_call = untouched::note_all_in_call,
    .lose_order = close_matcher,
    .cancel = cancel_message,
    .post_receive = post_receive,
    .posted = posted,
    .end_receive = end_receive,
    .release_bounced = release_bounced,
    .unpack_arrived = unpack_arrived,
    .queue_rest = queue_rest,
    .post_send = post_send,
    .note_send_request = note_send_request,
    .receiver = receiver,
    .match = match,
    .put = put,
    .queue_chunks = queue_its_chunks,
    .report_arrived = report_arrived,
    .end_put = end_put,
    .retry_put = retry_put,
    .take_back = take_back,
    .forget_buffer = forget_buffer,
    .open_channel = open_channel,
    .skip_channel = skip_channel,
    .open_partitioned_send = open_partitioned_send,
    .open_partitioned_receive = open_partitioned_receive,
    .skip_partitioned = skip_partitioned,
    .loss_of_peer = loss_of_peer,
    .is_send = is_send,
    .note_failed_gpu = note_failed_gpu,
};

}  // namespace tempi::message
