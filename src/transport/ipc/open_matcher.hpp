// The matcher of a communicator while anybody counts on it, and its end after a failure.
#pragma once

#include "base/error.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {

// Null: nobody counts on the communicator.
Matcher* open_matcher(Handle comm) noexcept;

void close_matcher(Handle comm, Outcome why) noexcept;
// Warns.
void close_after(const Error& error, Handle comm) noexcept;

}  // namespace tempi::message
