// The transports of this process. A further one is added here: behind those that are to be asked before it.
#include <array>

#include "transport/ipc/ipc.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

constexpr std::array<const Transport*, 1> kAll{&ipc_transport};

}  // namespace

constinit const std::span<const Transport* const> transports = kAll;

}  // namespace tempi::message
