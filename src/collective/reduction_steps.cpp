#include "collective/reduction_steps.hpp"

#include "machine/machine.hpp"

namespace tempi::collective {
namespace {

using To = ReductionTask::To;

constexpr double kPerByte = 3.1e-12;     // seconds, where no profile tells it: H200 with NVLink
constexpr double kAnotherWait = 4.9e-6;  // seconds; on H200s the link carries 1.5 MiB in this time
// For larger inputs, the kernel of one step, which reduces all scalars, takes more time than another wait.
constexpr std::int64_t kMostBytesInOneStep = 4 << 20;
// For two processes that reduce to one of them. One step takes 291 us for 64 MiB between two H200, and 39 us for 8 MiB;
// two steps of MPI_Allreduce, which move as many bytes or more, take 258 and 46 us. They are equal at about 16 MiB.
constexpr double kTwoToRoot = 52e-6;  // seconds for 16 MiB

double seconds_per_byte() {
  const model::Profile* const profile = machine::profile();
  if (profile == nullptr) return kPerByte;
  const model::Term& term = profile->fit.term(model::Part::reduce_other_gpu);
  if (!term.is_known()) return kPerByte;
  constexpr std::int64_t kLess = 16 << 20, kMore = 64 << 20;
  const auto seconds = [&](std::int64_t bytes) { return term.seconds({bytes, 1, bytes, bytes >> 12}); };
  const double found = (seconds(kMore) - seconds(kLess)) / (kMore - kLess);
  return found > 0 ? found : kPerByte;
}

bool are_two_steps_faster(To to, std::int64_t bytes, std::int64_t size, double per_byte) {
  const auto of_all = static_cast<double>(bytes);
  if (to == To::root && size == 2) return of_all * per_byte > kTwoToRoot;
  const double more = of_all * static_cast<double>((size - 1) * (size - 2)) / static_cast<double>(size);
  return bytes > kMostBytesInOneStep || more * per_byte > kAnotherWait;
}

}  // namespace

bool are_two_steps_predicted(const ReductionTask& task, std::int64_t size) noexcept try {
  return are_two_steps_faster(task.to, task.total_bytes(), size, seconds_per_byte());
} catch (...) {
  return are_two_steps_faster(task.to, task.total_bytes(), size, kPerByte);
}

}  // namespace tempi::collective
