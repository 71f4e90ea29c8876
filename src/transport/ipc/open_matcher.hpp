// The matcher of a communicator, if messages on it are still counted; closing it after a failure.
#pragma once

#include "base/error.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {

// Null: messages on the communicator are not counted.
Matcher* open_matcher(Handle comm) noexcept;

void close_matcher(Handle comm, Outcome why) noexcept;
// Prints a warning, too.
void close_after(const Error& error, Handle comm) noexcept;

}  // namespace tempi::message
