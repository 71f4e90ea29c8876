// MPI-4.1, 5.1.9 Commit and Free.
#include "base/counters.hpp"
#include "base/options.hpp"
#include "interpose/entry.hpp"
#include "interpose/state.hpp"
#include "interpose/types.hpp"

namespace tempi::interpose {
namespace {

Outcome outcome_of(const Analysis& analysis) {
  if (analysis.type == nullptr) return Outcome::passed_unsupported;
  return analysis.structure_was_known ? Outcome::known : Outcome::analysed;
}

int commit(const Real& real, void* datatype) {
  const int code = real.MPI_Type_commit(datatype);
  if (code != MPI_SUCCESS || !active() || flag(Option::NO_TYPE_COMMIT)) {
    count_call(Function::MPI_Type_commit, code == MPI_SUCCESS ? Outcome::passed_disabled : Outcome::passed_invalid);
    return code;
  }
  count_call(Function::MPI_Type_commit, outcome_of(analyse_type(load_handle(datatype))));
  return code;
}

}  // namespace

TEMPI_ENTRY(MPI_Type_commit, (void* datatype), commit(real, datatype))

}  // namespace tempi::interpose
