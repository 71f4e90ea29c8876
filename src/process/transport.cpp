// The transport of this process.
#include "transport/transport.hpp"

#include "transport/ipc/ipc.hpp"

namespace tempi::message {

const Transport& transport() noexcept { return ipc_transport; }

}  // namespace tempi::message
