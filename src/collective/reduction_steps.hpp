// The number of steps of a reduction on a stream (collective/stream_reduction.hpp). One step moves more bytes over the
// links, two steps wait twice. The profile tells how long a link takes for a byte. The profiles of the members may
// differ, so they vote, and there are two steps if one member predicts that two steps are faster.
#pragma once

#include "collective/reduction_task.hpp"

namespace tempi::collective {

// Of a reduction among `size` processes, by the profile of this process.
bool are_two_steps_predicted(const ReductionTask& task, std::int64_t size) noexcept;

}  // namespace tempi::collective
