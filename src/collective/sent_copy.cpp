#include "collective/sent_copy.hpp"

#include <algorithm>

#include "base/recycled.hpp"
#include "call/call_forms.hpp"
#include "collective/blocks.hpp"
#include "request/grouped_packing.hpp"

namespace tempi::collective {
namespace {

using device::MemoryKind;
using message::Lifetime;
using model::Strategy;

std::int64_t size_of(Handle type) {
  Count size = 0;
  real_pmpi().MPI_Type_size_x(type, &size);
  return size;
}

message::Choice choice_of(const Step& step, const pack::Place& place, Handle comm) {
  const pack::Plan& plan = step.structure->plan;
  const pack::Repeat repeat{step.count, step.extent};
  const bool is_contiguous = pack::is_plain_copy(plan, repeat) && !place.is_split();
  return message::choose({place.touches_gpu() ? MemoryKind::device : MemoryKind::host, is_contiguous,
                          message::features_of(plan, repeat), plan.traffic.is_indexed, comm, step.peer});
}

}  // namespace

SentCopy::SentCopy(const Real& real, Handle comm, const Steps& steps, device::Limit limit)
    : message_(make_recycled<message::Message>(real, comm, Lifetime::call)) {
  if (steps.outs.empty()) return;
  device::Device* const device = device::current();
  const auto address_of = [&](const Step& step) { return moved_by(steps.from, step.displacement); };
  for (const Step& step : steps.outs) find_source(step, address_of(step), device);
  take_memory(device, limit);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    add(steps.outs[i], address_of(steps.outs[i]), sources_[i], device);
  }
}

void SentCopy::find_source(const Step& step, const void* address, device::Device* device) {
  Source source;
  source.offset = bytes_;
  source.bytes = step.count * (step.structure ? step.structure->plan.layout.size : size_of(step.type));
  if (step.structure) find_place(source, step, address, device);
  else memory_.serve({});  // the library packs it, into memory that the CPU reaches
  bytes_ = aligned(bytes_ + source.bytes);
  sources_.push_back(source);
}

void SentCopy::find_place(Source& source, const Step& step, const void* address, device::Device* device) {
  source.end = pack::laid_out_end(step.structure->plan.layout, address, step.extent);
  pack::Place& place = source.end.place;
  if (device != nullptr) place = pack::locate(source.end, step.count, *device);
  memory_.serve(place);
  source.choice = choice_of(step, place, message_->comm);
}

void SentCopy::take_memory(device::Device* device, device::Limit limit) {
  constexpr auto kOverrun = device::Overrun::impossible;  // nothing is received there
  const auto has_taken = [&](MemoryKind kind) { return memory_.take(*device, kind, bytes_, limit, kOverrun); };
  if (memory_.is_all_on_worker() && has_taken(MemoryKind::device)) return;
  if (memory_.worker().on_gpu() && has_taken(MemoryKind::pinned)) return;
  memory_.take_ordinary(device, bytes_, kOverrun);
}

void SentCopy::add(const Step& step, const void* address, const Source& source, device::Device* device) {
  if (step.structure) {
    const Strategy strategy = memory_.is_on_gpu() ? Strategy::device : Strategy::oneshot;
    message_->outs.add(message::Endpoint{pack::Direction::pack, step.structure, step.count, source.end, strategy},
                       device, memory_.from(source.offset));
  } else {
    if (!message::fits_int(step.count) || !message::fits_int(source.bytes)) throw LeftToLibrary{};
    foreign_.push_back(
        {address, static_cast<int>(step.count), static_cast<int>(source.bytes), step.type, source.offset});
  }
  types_.push_back(packed_element(source.bytes));
  const Handle type = types_.back()->handle();
  const KnownType& known = resolve(type, message_->comm);
  packed_.push_back({step.peer, source.offset, 1, type, known.prepared, known.extent});
}

// Contiguous bytes of a GPU would be a CUDA-aware library's.
void SentCopy::adapt(message::Endpoint& endpoint, int peer) const {
  const auto found = std::find_if(packed_.begin(), packed_.end(), [&](const Step& step) { return step.peer == peer; });
  const message::Choice& choice = sources_[static_cast<std::size_t>(found - packed_.begin())].choice;
  if (!memory_.is_on_gpu() || model::packs_nothing(choice.strategy)) return;
  endpoint.strategy = choice.strategy;
  endpoint.may_be_direct = choice.may_be_direct;
}

void SentCopy::pack(const Foreign& block) const {
  int position = 0;
  const int code = real_pmpi().MPI_Pack(block.address, block.count, block.type, memory_.data() + block.offset,
                                        block.bytes, &position, message_->comm);
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unsupported, "the MPI library does not pack a block");
}

void SentCopy::renew() {
  device::Location seen{};
  message_->outs.each([&](message::Transfer& part) {
    part.packed_buffer.look_again(seen);
    part.packed_buffer.come_after_streams();
  });
  message_->failure.reset();
  message::pack_all_of(*message_);
  if (message_->failure) throw Error(*message_->failure);
  for (const Foreign& block : foreign_) pack(block);
}

}  // namespace tempi::collective
