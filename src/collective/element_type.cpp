#include "collective/element_type.hpp"

#include <mutex>
#include <unordered_map>

#include "base/mutex.hpp"
#include "mpi/real.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

constexpr std::size_t kMostKept = 256;

struct Kept {
  Mutex<Lock::element_types> mutex;
  std::unordered_map<std::int64_t, OwnTypePtr> by_bytes;
};

Kept& kept() {
  static auto& all = *new Kept;  // never destroyed: MPI may be gone by then
  return all;
}

OwnTypePtr committed(Handle type) {
  real_pmpi().MPI_Type_commit(&type);
  return std::make_shared<const OwnType>(type);
}

OwnTypePtr make_packed(std::int64_t bytes) {
  const message::PackedType packed(bytes);
  Handle type = 0;
  real_pmpi().MPI_Type_contiguous(packed.count(), packed.type(), &type);
  return committed(type);
}

}  // namespace

OwnType::~OwnType() {
  Handle type = handle_;
  real_pmpi().MPI_Type_free(&type);
}

OwnTypePtr packed_element(std::int64_t bytes) {
  const std::lock_guard lock(kept().mutex);
  auto& by_bytes = kept().by_bytes;
  if (const auto found = by_bytes.find(bytes); found != by_bytes.end()) return found->second;
  if (by_bytes.size() >= kMostKept) by_bytes.clear();
  return by_bytes[bytes] = make_packed(bytes);
}

OwnTypePtr moved(Handle type, Aint bytes) {
  const int one = 1;
  Handle made = 0, element = type;
  alignas(Handle) char its_type[sizeof(Handle)] = {};
  store_handle(its_type, element);
  real_pmpi().MPI_Type_create_struct(1, &one, &bytes, its_type, &made);
  return committed(made);
}

BlockTypes::BlockTypes(const Argument& argument) {
  const auto* const program = static_cast<const char*>(argument.types);
  handles_.assign(program, program + static_cast<std::size_t>(argument.n_blocks) * sizeof(MPI_Datatype));
  if (argument.own_block >= 0) set(argument.own_block, packed_element(0));
}

void BlockTypes::set(int block, Handle type) {
  store_handle(&handles_[static_cast<std::size_t>(block) * sizeof(MPI_Datatype)], type);
}

void BlockTypes::set(int block, OwnTypePtr type) {
  set(block, type->handle());
  own_.push_back(std::move(type));
}

void forget_packed_elements() noexcept {
  const std::lock_guard lock(kept().mutex);
  kept().by_bytes.clear();
}

}  // namespace tempi::collective
