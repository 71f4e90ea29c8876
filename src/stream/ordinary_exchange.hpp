// An exchange that the progress thread carries out for a stream (ordinary.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/staging.hpp"
#include "stream/ordinary.hpp"

namespace tempi::message {

// A request as the functions of MPI take it.
class Slot {
 public:
  explicit Slot(Handle request) { store_handle(bytes_, request); }
  void* data() { return bytes_; }

 private:
  alignas(std::max_align_t) char bytes_[kRequestBytes];
};

inline Handle comm_of(const OrdinaryRequest& one) { return one.message ? on_stream(*one.message).told : comm_world(); }

// Only the progress thread uses the object, except where a comment names a lock or other threads.
class OrdinaryExchange final : public ChannelEnd {
 public:
  OrdinaryExchange(const device::Scope& here, bool its_captured, std::vector<OrdinaryRequestPtr> its_requests)
      : is_captured(its_captured),
        context(here.context()),
        requests(std::move(its_requests)),
        device_(here.device()),
        prepared_(here.device().prepare_in_place(here.context(), kMarksOfRequest * requests.size())),
        memory_(here.device(), here.context(), device::MemoryKind::pinned, sizeof(Words)),
        is_running_(requests.size()) {
    std::memset(memory_.data(), 0, sizeof(Words));
  }

  State look(bool) noexcept override { return State::connected; }
  const std::string& why_closed() const noexcept override { return none_; }
  bool shares_gpu() const noexcept override { return false; }
  pack::ExchangeEnd words() const noexcept override { return {&at().end, &at().reached, &at().loss, 0, 0}; }
  const pack::BoxMove& box_move() const noexcept override { return nothing_; }
  const pack::BoxMove* unpacking() const noexcept override { return nullptr; }
  bool is_remote() const noexcept override { return false; }
  pack::Loss loss() const noexcept override { return pack::Loss::none; }

  bool is_of(device::Context its, bool its_captured, const std::vector<OrdinaryRequestPtr>& others) const {
    return !is_retired && context == its && is_captured == its_captured && requests == others;
  }
  bool has(const OrdinaryRequest& one) const {
    return std::any_of(requests.begin(), requests.end(), [&](const auto& its) { return its.get() == &one; });
  }

  // Any thread.
  bool is_queued() const { return reached() > n_ended || (!is_captured && n_launched > n_ended); }
  void end_waits() {
    std::atomic_ref(at().loss).store(static_cast<std::uint32_t>(pack::Loss::peer_has_ended), std::memory_order_release);
  }

  bool advance();
  // Any thread. True: a kernel of the context has failed; the other processes know.
  bool tell_if_failed() const noexcept;

  const bool is_captured;
  const device::Context context;
  const std::vector<OrdinaryRequestPtr> requests;  // in the order in which they are started
  bool is_retired = false;                         // with the lock; true: later launches use another object
  std::atomic<std::uint64_t> n_launched{0};        // outside of graphs
  std::atomic<std::uint64_t> n_ended{0};

 private:
  struct Words {
    pack::EndWords end;
    alignas(pack::kLineBytes) std::uint64_t reached;
    std::uint32_t loss;
  };
  using Clock = std::chrono::steady_clock;

  Words& at() const { return *reinterpret_cast<Words*>(memory_.data()); }
  std::uint64_t reached() const { return std::atomic_ref(at().reached).load(std::memory_order_acquire); }
  void end();
  bool start_next();
  bool start(OrdinaryRequest& one);
  bool query(OrdinaryRequest& one, bool looks_at_peer);
  bool give_up(OrdinaryRequest& one, pack::Loss why);
  pack::Loss why_ended() const;
  void look_at_gpu() { has_failed_ = has_failed_ || tell_if_failed(); }
  void end_unreached();
  bool looks_at_peers();

  static constexpr std::size_t kMarksOfRequest = 32;  // a message in chunks needs several

  device::Device& device_;
  const std::shared_ptr<const void> prepared_;
  device::Staging memory_;
  std::vector<char> is_running_;
  std::size_t n_started_ = 0;
  bool is_under_way_ = false;
  bool has_failed_ = false;  // a kernel of the context has failed: the stream never reaches the remaining exchanges
  Clock::time_point began_{};
  Clock::time_point looked_at_peers_{};
  const pack::BoxMove nothing_{};
  const std::string none_{};
};

}  // namespace tempi::message
