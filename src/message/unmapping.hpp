// The ends of mappings, by a thread that lives while there are some: the driver waits for all kernels of the context
// first, and the program's may be waiting for other processes, which wait for this one's next call.
#pragma once

#include <vector>

#include "message/reach.hpp"

namespace tempi::message {

// Lets go of mappings. One that work still uses ends with that.
void end_later(std::vector<ReachedPtr> mappings) noexcept;

// Some have not ended. What their owner has allocated at the same addresses since may not be mapped meanwhile: the
// driver refuses it (seen on an H200).
bool is_ending_mappings() noexcept;

}  // namespace tempi::message
