// The MPIX_Stream handles of TEMPI, each for a stream of CUDA. In MPICH and include/tempi_mpix.h, a handle is an int.
// The handles of TEMPI differ from those of MPICH.
#pragma once

#include <optional>
#include <string_view>

#include "device/device.hpp"

namespace tempi::message {

inline constexpr int kNoMpixStream = 0x3c000000;  // MPIX_STREAM_NULL

int add_mpix_stream(device::StreamHandle stream);
// Empty: the handle is not one of TEMPI.
std::optional<device::StreamHandle> find_mpix_stream(int handle);
// False: the handle is not one of TEMPI.
bool remove_mpix_stream(int handle);

// The value of a key that MPIX_Info_set_hex has set: two digits for each byte, or [n] for n bytes of 0, as MPICH
// writes them. False: it has not exactly `bytes` bytes.
bool decode_hex(std::string_view text, void* value, std::size_t bytes);

}  // namespace tempi::message
