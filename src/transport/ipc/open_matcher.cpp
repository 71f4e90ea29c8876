#include "transport/ipc/open_matcher.hpp"

#include "base/log.hpp"
#include "peer/peer.hpp"

namespace tempi::message {

Matcher* open_matcher(Handle comm) noexcept {
  Matcher* const all = matcher_on(comm);
  return all != nullptr && (all->claims() || all->publishes()) ? all : nullptr;
}

void close_matcher(Handle comm, Outcome why) noexcept {
  if (!peer::knows(comm)) return;
  if (Matcher* const all = open_matcher(comm)) all->close(why);
}

void close_after(const Error& error, Handle comm) noexcept {
  warn_fallback("messages between GPUs are packed", error.what());
  close_matcher(comm, Outcome::ended_by_failure);
}

}  // namespace tempi::message
