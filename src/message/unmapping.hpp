// The ends of mappings, by a thread that lives while there are some: the driver waits for all kernels of the context
// first, and the program's may be waiting for other processes, which wait for this one's next call.
#pragma once

#include <vector>

#include "message/reach.hpp"

namespace tempi::message {

// Lets go of mappings. One that work still uses ends with that.
void end_later(std::vector<ReachedPtr> mappings) noexcept;

// False: some have not ended, though they were waited for, as long as making a mapping takes. What their owner has
// allocated at the same addresses since may not be mapped meanwhile: the driver refuses it (seen on an H200).
bool have_mappings_ended() noexcept;

}  // namespace tempi::message
