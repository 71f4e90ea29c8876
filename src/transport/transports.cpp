#include "transport/transports.hpp"

#include <algorithm>

#include "peer/peer.hpp"

namespace tempi::message {

const Transport& choose_transport(Handle comm, int peer) noexcept {
  const int rank = peer::rank_in_world(comm, peer);
  const auto reaches = [&](const Transport* one) { return one->can_reach(rank); };
  const auto found = rank >= 0 ? std::find_if(transports.begin(), transports.end(), reaches) : transports.begin();
  return found != transports.end() ? **found : *transports.front();
}

bool is_reached(Handle comm, int peer) noexcept {
  const int rank = peer::find_rank(comm, peer);
  const auto reaches = [&](const Transport* one) { return one->can_reach(rank); };
  return rank >= 0 && std::any_of(transports.begin(), transports.end(), reaches);
}

void open_transports() noexcept {
  Opened any;
  for (const Transport* const one : transports) {
    const Opened its = one->open();
    any.counts_messages |= its.counts_messages;
    any.may_put |= its.may_put;
  }
  may_put.store(any.may_put);
  counts_messages.store(any.counts_messages);
}

void close_transports() noexcept {
  counts_messages.store(false);
  may_put.store(false);
  for (const Transport* const one : transports) one->close();
}

}  // namespace tempi::message
