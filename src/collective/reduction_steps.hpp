// The number of steps of a reduction on a stream (collective/stream_reduction.hpp). One step moves more bytes over the
// links, two steps wait twice. The profile tells how long a link takes for a byte. The profiles of the members may
// differ, so they vote, and there are two steps if one member predicts that two steps are faster.
#pragma once

#include "collective/reduction_task.hpp"

namespace tempi::collective {

// A reduction of `bytes` bytes among `size` processes, over links that take `per_byte` seconds for a byte.
bool are_two_steps_faster(ReductionTask::To to, std::int64_t bytes, std::int64_t size, double per_byte);

// The same by the profile of this process.
bool are_two_steps_predicted(const ReductionTask& task, std::int64_t size) noexcept;

}  // namespace tempi::collective
