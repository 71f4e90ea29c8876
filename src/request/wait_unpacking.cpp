#include "request/wait_unpacking.hpp"

#include <cstring>
#include <vector>

#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// False: all that bounces of this receive has arrived, or the message comes otherwise.
bool may_arrive(Message* message) noexcept {
  if (message == nullptr || !message->is(MessageState::started) || message->ins.empty()) return false;
  Transfer& transfer = message->ins.first();
  return transfer.state && transfer.transport.unpack_arrived(transfer);
}

bool any_bounces() { return n_bouncing.load(std::memory_order_relaxed) != 0; }

bool has_failed(const MPI_Status& status) { return has_error(status) && status.MPI_ERROR != MPI_SUCCESS; }

// The receives with bounce buffers among the requests of a call, which the library is asked about together.
class BounceBuffers {
 public:
  explicit BounceBuffers(const Requests& all) : all_(all) {
    for (int i = 0; i < all.size(); ++i) {
      if (all.message(i) && may_arrive(all.message(i).get())) at_.push_back(i);
    }
    handles_.resize(at_.size() * kRequestBytes);
    for (std::size_t k = 0; k < at_.size(); ++k) std::memcpy(handle(k), all.slot(at_[k]), kRequestBytes);
  }

  int size() const { return static_cast<int>(at_.size()); }
  int at(int k) const { return at_[static_cast<std::size_t>(k)]; }
  void* handles() { return handles_.data(); }
  void* handle(std::size_t k) { return handles_.data() + k * kRequestBytes; }

  bool any_may_arrive() const {
    bool any = false;
    for (const int i : at_) any = may_arrive(all_.message(i).get()) || any;
    return any;
  }

  // After a call about them that has said something: complete ones are null, or inactive. MPICH's MPI_Testall leaves
  // those that are complete where it finds an error while others are not.
  void conclude(const Real& real, const SeenStatuses& told) {
    for (int k = 0; k < size(); ++k) {
      void* const its = handle(static_cast<std::size_t>(k));
      const bool is_plain = all_.message(at(k))->lifetime == Lifetime::plain;
      if (is_plain && !is_null(load_handle(its)) && is_filled(*told.at(k))) real.MPI_Request_free(its);
      std::memcpy(all_.slot(at(k)), its, kRequestBytes);
    }
  }

 private:
  const Requests& all_;
  std::vector<int> at_{};
  std::vector<char> handles_{};
};

// Nothing more is known of the others: they are pending, or null.
void tell_error(const Real& real, const Requests& all, const BounceBuffers& bounce_buffers, const SeenStatuses& told,
                const SeenStatuses& statuses) {
  for (int i = 0; i < all.size(); ++i) {
    Handle null = request_null();
    int flag = 0;
    if (is_null(load_handle(all.slot(i)))) real.MPI_Test(&null, &flag, statuses.at(i));
    statuses.at(i)->MPI_ERROR = is_null(load_handle(all.slot(i))) ? MPI_SUCCESS : MPI_ERR_PENDING;
  }
  for (int k = 0; k < bounce_buffers.size(); ++k) {
    if (!is_filled(*told.at(k))) continue;
    MPI_Status& status = *statuses.at(bounce_buffers.at(k));
    status = *told.at(k);
    if (!has_error(status)) status.MPI_ERROR = MPI_SUCCESS;
  }
}

// They are complete: MPI_Waitall tells the rest.
void note_told(const Requests& all, const BounceBuffers& bounce_buffers, const SeenStatuses& told) {
  std::vector<Completed> complete;
  for (int k = 0; k < bounce_buffers.size(); ++k) {
    complete.push_back({all.message(bounce_buffers.at(k)), nullptr, told.at(k), MPI_SUCCESS});
  }
  unpack(complete);
  for (const Completed& one : complete) {
    one.message->told = *one.status;
    one.message->state.become(MessageState::seen);
  }
}

}  // namespace

int wait_for(const Real& real, Message* message, void* slot, MPI_Status* status) noexcept {
  while (any_bounces() && may_arrive(message)) {
    int flag = 0;
    const int code = real.MPI_Test(slot, &flag, status);
    if (code != MPI_SUCCESS || flag) return code;
  }
  return library_wait(real, message, slot, status);
}

void wait_for_each(const Real& real, const Requests& all, const SeenStatuses& statuses) noexcept {
  const auto message = [&](int i) { return all.any_managed() ? all.message(i).get() : nullptr; };
  for (bool may_more = any_bounces(); may_more;) {
    may_more = false;
    for (int i = 0; i < all.size(); ++i) {
      if (has_error(*statuses.at(i)) || !may_arrive(message(i))) continue;
      int flag = 0;
      const int code = real.MPI_Test(all.slot(i), &flag, statuses.at(i));
      statuses.at(i)->MPI_ERROR = code != MPI_SUCCESS || flag ? code : kNotFilled;
      may_more = may_more || !has_error(*statuses.at(i));
    }
  }
  for (int i = 0; i < all.size(); ++i) {
    if (has_error(*statuses.at(i))) continue;
    statuses.at(i)->MPI_ERROR = library_wait(real, message(i), all.slot(i), statuses.at(i));
  }
}

std::optional<int> wait_for_bounce_buffers(const Real& real, const Requests& all, const SeenStatuses& statuses) {
  if (!any_bounces()) return {};
  BounceBuffers bounce_buffers(all);
  const SeenStatuses told(bounce_buffers.size(), MPI_STATUSES_IGNORE);
  while (bounce_buffers.any_may_arrive()) {
    int flag = 0;
    const int code = real.MPI_Testall(bounce_buffers.size(), bounce_buffers.handles(), &flag, told.at(0));
    bool is_well = code == MPI_SUCCESS;
    for (int k = 0; k < bounce_buffers.size(); ++k) is_well = is_well && !has_failed(*told.at(k));
    if (is_well && !flag) continue;
    bounce_buffers.conclude(real, told);
    if (is_well) {
      note_told(all, bounce_buffers, told);
      break;
    }
    tell_error(real, all, bounce_buffers, told, statuses);
    return code;
  }
  return {};
}

}  // namespace tempi::message
