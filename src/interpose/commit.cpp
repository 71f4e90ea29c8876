// MPI-4.1, 5.1.9 Commit and Free.
#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"
#include "types/reader.hpp"
#include "types/types.hpp"

namespace tempi::interpose {
namespace {

// A list of a million blocks takes longer to analyse than the library's whole commit, and may never be packed.
bool is_long(Handle datatype) {
  constexpr std::int64_t kLongList = 4096;
  return argument_count(datatype) > kLongList;
}

Outcome analyse(Handle datatype) noexcept try {
  if (is_long(datatype)) {
    leave_for_later();
    return Outcome::deferred;
  }
  const Analysis analysis = analyse_type(datatype);
  if (analysis.type == nullptr) return Outcome::passed_unsupported;
  analysis.type->is_committed.store(true, std::memory_order_relaxed);
  return analysis.structure_was_known ? Outcome::known : Outcome::analysed;
} catch (...) {
  warn_fallback("a datatype is left to the MPI library", caught_error().what());
  return Outcome::passed_unsupported;
}

int commit(const Real& real, void* datatype) {
  const int code = real.MPI_Type_commit(datatype);
  if (code != MPI_SUCCESS || !active() || flag(Option::NO_TYPE_COMMIT)) {
    if (active()) leave_for_later();
    count_call(Function::MPI_Type_commit, code == MPI_SUCCESS ? Outcome::passed_disabled : Outcome::passed_invalid);
    return code;
  }
  count_call(Function::MPI_Type_commit, analyse(load_handle(datatype)));
  return code;
}

}  // namespace

TEMPI_ENTRY(MPI_Type_commit, (void* datatype), commit(real, datatype))

}  // namespace tempi::interpose
