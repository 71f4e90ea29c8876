#include "collective/blocks.hpp"

#include "mpi/own_comm.hpp"
#include "peer/peer.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {

void check(Handle comm) {
  if (peer::knows(comm)) return;
  if (const auto refusal = message::find_refusal(type_byte(), comm)) throw Refused{*refusal};
  peer::get_to_know(comm);
}

const KnownType& resolve(Handle type, Handle comm) {
  const KnownType* known = find_type(type);
  if (known != nullptr && known->is_committed.load(std::memory_order_relaxed)) return *known;
  const bool is_untold = key_of(comm) == key_of(comm_null());
  if (const auto refusal = message::find_refusal(type, is_untold ? own_comm() : comm)) throw Refused{*refusal};
  if (known == nullptr) known = analyse_type(type).type;
  if (known == nullptr) throw LeftToLibrary{};
  known->is_committed.store(true, std::memory_order_relaxed);
  return *known;
}

bool is_contiguous(const Block& block) {
  return pack::is_plain_copy(*block.type->plan, {block.count, block.type->extent});
}

pack::End end_of(const Argument& argument, const Block& block) {
  pack::End end = pack::laid_out_end(block.type->plan->layout, argument.address, block.type->extent);
  end.address = end.at(block.displacement);
  return end;
}

bool Blocks::check_size(const Block& block) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(block.count, block.type->size(), &bytes)) throw LeftToLibrary{};
  return bytes > 0;
}

}  // namespace tempi::collective
