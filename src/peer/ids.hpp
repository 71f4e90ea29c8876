#pragma once
#include "mpi/handle.hpp"
namespace tempi::peer { std::uint64_t comm_id(Handle comm) noexcept; }
