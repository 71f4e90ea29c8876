// A transport by plain files: the sender's kernel packs into pinned memory, the sender writes that into a file, the
// receiver reads it. It shows that request/ and transfer/ name no transport: a shim with this file in the place of
// process/transport.cpp carries the tests of messages (test_file_transport.py). It carries the messages of the peers
// that TESTS_FILE_PEERS names (`can_reach`), and transport/ipc/ those of the others.
//
// Each message has a file in a folder of the job in TESTS_TRANSPORT. Its name has the communicator, the source, the
// destination, the tag and the number of the message in its match queue; its extension is the state:
//     open      a posted receive; contents: its size
//     claimed   the sender has renamed "open"
//     written, packed, lost   how the put has ended; "written" has the bytes
// The file "carried" has a line for each message whose bytes went by a file: its match queue.
//
// After a wildcard receive or a matched probe the process publishes no receive any more: the numbers of later ones are
// not known. After a cancelled send, a persistent request of the library or a call that failed it claims none either.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/launcher.hpp"
#include "peer/ids.hpp"
#include "peer/peer.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

namespace fs = std::filesystem;

std::recursive_mutex mutex;  // of the variables below
fs::path folder;             // of the job
bool sends_are_closed = false, receives_are_closed = false;
std::map<std::string, int> counts;  // by match queue
std::set<std::pair<std::string, int>> published;

struct Place {
  std::string queue{};  // empty: the message is not counted
  int n = 0;
  fs::path path(const char* state) const { return folder / (queue + "-" + std::to_string(n) + "." + state); }
  bool is(const char* state) const { return fs::exists(path(state)); }
  bool change(const char* from, const char* to) const noexcept {
    std::error_code failure;
    fs::rename(path(from), path(to), failure);
    return !failure;
  }
};

struct FileState final : TransportState {
  ~FileState() override {
    if (is_claimed) place.change("claimed", "packed");
  }
  Place place{};
  bool is_published = false, is_claimed = false;
  std::shared_ptr<device::Staging> memory{};
  pack::BoxMove move{};
  std::shared_ptr<const void> owner{};
};

FileState& state_of(Transfer& transfer) { return static_cast<FileState&>(*transfer.state); }

void close_all() noexcept {
  const std::lock_guard lock(mutex);
  sends_are_closed = receives_are_closed = true;
}

void close_receives() noexcept {
  const std::lock_guard lock(mutex);
  receives_are_closed = true;
}

// The next message of the queue. A wildcard closes. MPI_COMM_SELF has no id, but the handle names it in this process.
Place count(Handle comm, int peer, int tag, bool is_send) {
  if (peer == MPI_PROC_NULL) return {};
  if (peer < 0 || tag < 0) return close_receives(), Place{};
  const int other = peer::rank_in_world(comm, peer), own = peer::own_rank();
  const std::uint64_t id = other == own ? key_of(comm) : peer::comm_id(comm);
  if (other < 0 || id == 0) return {};
  const std::string ends = std::to_string(is_send ? own : other) + "-" + std::to_string(is_send ? other : own);
  const std::string queue = std::to_string(id) + "-" + ends + "-" + std::to_string(tag);
  const std::lock_guard lock(mutex);
  return {queue, ++counts[(is_send ? "out " : "in ") + queue]};
}

// Revokes the receives of a queue from the n-th on. False: one of them is claimed.
bool revoke_from(const Place& from) {
  const std::lock_guard lock(mutex);
  bool all = true;
  std::erase_if(published, [&](const auto& one) {
    if (one.first != from.queue || one.second < from.n) return false;
    const bool is_open = fs::remove(Place{one.first, one.second}.path("open"));
    all = all && is_open;
    return is_open;
  });
  return all;
}

void count_direct(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

// The end of a published receive. True: it is claimed.
bool is_claimed(const Place& place) {
  const std::lock_guard lock(mutex);
  return published.erase({place.queue, place.n}) != 0 && !fs::remove(place.path("open"));
}

// Pinned memory for all bytes, and a move between it and the program's buffer.
void take_memory(FileState& state, const PackedBuffer& buffer, pack::Direction direction) {
  const pack::BoxMove& own = buffer.box_move();
  const device::Scope here(buffer.device(), own.laid_out().place.first.context);
  state.memory =
      std::make_shared<device::Staging>(here.device(), here.context(), device::MemoryKind::pinned, buffer.bytes());
  pack::End dense = pack::dense_end(*own.laid_out().layout, state.memory->data());
  dense.place = {here.device().locate(state.memory->data())};
  state.owner = buffer.prepared();
  state.move = pack::box_move_of(direction, *buffer.prepared(), own.count, own.laid_out(), dense);
}

// "odd": ranks whose sum with the own one is odd; "far": those of other nodes; else all.
const std::string& file_peers() noexcept {
  static const char* const found = std::getenv("TESTS_FILE_PEERS");
  static const std::string peers = found != nullptr ? found : "";
  return peers;
}

// ---- the table

Opened open() noexcept {
  const std::string job = file_peers() == "far" ? pmix_namespace() : job_on_node();
  folder = fs::path(std::getenv("TESTS_TRANSPORT")) / std::to_string(std::hash<std::string>{}(job));
  fs::create_directories(folder);
  return {.counts_messages = peer::counts_creations(), .may_put = peer::counts_creations()};
}
void close() noexcept {}
void progress() noexcept {}

bool can_reach(int rank) noexcept {
  if (file_peers() == "far") return !peer::is_on_this_node(rank);
  return file_peers() != "odd" || (rank + peer::own_rank()) % 2 != 0;
}

Noted note(const Envelope* out, const Envelope* in, bool is_persistent) noexcept {
  if (is_persistent) return close_all(), Noted{};
  if (out != nullptr) count(out->buffer.comm, out->peer, out->tag, true);
  if (in != nullptr && !in->is_matched) count(in->buffer.comm, in->peer, in->tag, false);
  return {};
}
void note_request(const Envelope*, const Envelope*, const Noted&, bool, Handle) noexcept {}
void note_handle(Handle) noexcept {}
void note_no_probe() noexcept {}
UndecidedPtr note_matched_probe(int, int, Handle) noexcept { return close_receives(), nullptr; }

bool cancel(const MessagePtr& message, Handle) noexcept {
  if (message && !message->ins.empty() && message->ins.first().state)
    return revoke_from(state_of(message->ins.first()).place);
  close_all();
  PendingSends::get().settle();
  return true;
}

void post_receive(Message& message) noexcept {
  Transfer& transfer = message.ins.first();
  auto state = std::make_unique<FileState>();
  state->place = count(message.comm, transfer.peer, transfer.tag, false);
  state->is_published = !receives_are_closed && !state->place.queue.empty() && transfer.packed_buffer.may_be_direct() &&
                        !transfer.packed_buffer.box_move().laid_out().place.is_split();
  transfer.state = std::move(state);
}

void posted(Message& message, bool is_well) noexcept {
  const FileState& state = state_of(message.ins.first());
  if (!is_well) close_all();
  if (!is_well || !state.is_published) return;
  const std::lock_guard lock(mutex);
  published.insert({state.place.queue, state.place.n});
  std::ofstream(state.place.path("posting")) << message.ins.bytes() << std::flush;
  state.place.change("posting", "open");
  count_direct(Outcome::published, message.ins.bytes());
}

Arrival read(FileState& state, const PackedBuffer& buffer) {
  take_memory(state, buffer, pack::Direction::unpack);
  const fs::path file = state.place.path("written");
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file));
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(state.memory->data()), bytes);
  fs::remove(file);
  return {Arrival::How::bounced, bytes, state.move.dense()};
}

Arrival end_receive(Transfer& transfer, bool) noexcept try {
  FileState& state = state_of(transfer);
  if (!std::exchange(state.is_published, false) || !is_claimed(state.place)) return {};
  while (!state.place.is("written") && !state.place.is("packed") && !state.place.is("lost")) std::this_thread::yield();
  if (state.place.is("written")) return read(state, transfer.packed_buffer);
  if (fs::remove(state.place.path("packed"))) return {};
  fs::remove(state.place.path("lost"));
  return {Arrival::How::lost, 0, {}, Error(ErrorKind::device, "the sender's kernel has failed")};
} catch (...) {
  return {Arrival::How::lost, 0, {}, caught_error()};
}

void release_bounced(Transfer& transfer) noexcept { state_of(transfer).memory.reset(); }
bool unpack_arrived(Transfer&) noexcept { return false; }
std::optional<pack::Queued> queue_rest(Transfer&) { return {}; }

Match post_send(Handle comm, Transfer& transfer, bool may_write) noexcept {
  auto state = std::make_unique<FileState>();
  state->place = count(comm, transfer.peer, transfer.tag, true);
  const PackedBuffer& buffer = transfer.packed_buffer;
  const bool is_put = may_write && !sends_are_closed && !state->place.queue.empty() && buffer.may_be_direct() &&
                      !buffer.box_move().laid_out().place.is_split();
  transfer.state = std::move(state);
  return {is_put ? Match::How::unmatched : Match::How::packed};
}

void note_send_request(const Message&) noexcept {}

Receiver receiver(const Transfer& transfer) noexcept {
  const Place& place = static_cast<const FileState&>(*transfer.state).place;
  return {&mutex, std::hash<std::string>{}(place.queue)};
}

Match match(Transfer& transfer, bool) noexcept {
  FileState& state = state_of(transfer);
  if (sends_are_closed) return {};
  if (!state.place.change("open", "claimed")) return {Match::How::unmatched};
  state.is_claimed = true;
  std::int64_t room = 0;
  std::ifstream(state.place.path("claimed")) >> room;
  try {
    if (transfer.packed_buffer.bytes() <= room) {
      take_memory(state, transfer.packed_buffer, pack::Direction::pack);
      return {.how = Match::How::put, .is_remote = true};  // its receiver may be in another process
    }
  } catch (const Error&) {  // there is no memory
  }
  state.is_claimed = !state.place.change("claimed", "packed");
  return {};
}

pack::Member put(Transfer& transfer) noexcept {
  FileState& state = state_of(transfer);
  return {&state.move, &state.owner};
}
pack::Queued queue_chunks(Transfer&) { return {}; }
void report_arrived(Transfer&, bool) {}

void write_file(FileState& state, std::int64_t bytes) {
  std::ofstream(state.place.path("claimed"), std::ios::binary)
          .write(reinterpret_cast<const char*>(state.memory->data()), bytes)
      << std::flush;
  state.is_claimed = !state.place.change("claimed", "written");
  std::ofstream(folder / "carried", std::ios::app) << state.place.queue + "\n";
}

std::shared_ptr<const void> end_put(Transfer& transfer, PutEnd how) noexcept {
  FileState& state = state_of(transfer);
  const std::int64_t bytes = transfer.packed_buffer.bytes();
  if (how == PutEnd::written) write_file(state, bytes);
  else state.is_claimed = !state.place.change("claimed", "packed");
  count_direct(how == PutEnd::written ? Outcome::sent_direct : Outcome::fell_back, bytes);
  return std::move(state.memory);
}

void retry_put(Transfer& transfer) try {
  const device::Scope here(transfer.packed_buffer.device(), transfer.packed_buffer.context());
  pack::Batch batch(here);
  batch.add_direct(put(transfer));
  batch.queue().mark->wait();
  write_file(state_of(transfer), transfer.packed_buffer.bytes());
  count_direct(Outcome::fell_back, transfer.packed_buffer.bytes());
} catch (...) {
  state_of(transfer).is_claimed = !state_of(transfer).place.change("claimed", "lost");
  throw;
}

void take_back(Transfer& transfer) noexcept { state_of(transfer).place.change("written", "packed"); }
void forget_buffer(Transfer&) noexcept {}

constinit const Transport file_transport{
    .name = "files",
    .open = open,
    .close = close,
    .progress = progress,
    .can_reach = can_reach,
    .note = note,
    .note_request = note_request,
    .note_start = note_handle,
    .note_free = note_handle,
    .note_probe = note_no_probe,
    .note_matched_probe = note_matched_probe,
    .promise_no_probes = [](Handle) noexcept {},
    .note_all_in_call = [](Handle, bool) noexcept {},
    .lose_order = [](Handle, Outcome) noexcept { close_all(); },
    .cancel = cancel,
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
    .queue_chunks = queue_chunks,
    .report_arrived = report_arrived,
    .end_put = end_put,
    .retry_put = retry_put,
    .take_back = take_back,
    .forget_buffer = forget_buffer,
    .open_channel = nullptr,
    .skip_channel = nullptr,
    .open_partitioned_send = nullptr,
    .open_partitioned_receive = nullptr,
    .skip_partitioned = nullptr,
    .loss_of_peer = nullptr,
    .is_send = nullptr,
    .note_failed_gpu = nullptr,
};

constexpr std::array<const Transport*, 2> kAll{&file_transport, &ipc_transport};

}  // namespace

constinit const std::span<const Transport* const> transports = kAll;

}  // namespace tempi::message
