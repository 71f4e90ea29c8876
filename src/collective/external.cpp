#include "collective/external.hpp"

#include <algorithm>

#include "collective/blocks.hpp"
#include "device/device.hpp"
#include "mpi/errors.hpp"

namespace tempi::collective {
namespace {

using pack::Direction;

// The packed bytes of the call. What the library refuses, or carries out without bytes, is its own: it looks at the
// name of the representation, of which there is one.
Count external_bytes(const External& given) {
  const bool is_plausible =
      given.packed != nullptr && given.count > 0 && *given.position >= 0 && *given.position <= given.packed_size;
  if (!is_plausible) throw LeftToLibrary{};
  resolve(given.datatype, comm_self());
  Aint of_one = 0;
  Count bytes = 0;
  const int code = real_pmpi().MPI_Pack_external_size("external32", 1, given.datatype, &of_one);
  if (code != MPI_SUCCESS || of_one <= 0 || __builtin_mul_overflow(given.count, of_one, &bytes)) throw LeftToLibrary{};
  return bytes;
}

bool is_gpu_memory(const void* address) {
  device::Device* const device = device::current();
  return device != nullptr && device->locate(address).kind == device::MemoryKind::device;
}

// MPICH does not look at the size of the buffer.
int complain_too_small() { return raise(comm_self(), MPI_ERR_TRUNCATE); }

void use(Argument& argument, Role role, Fidelity fidelity) {
  argument.n_blocks = 1;
  argument.roles.usual = role;
  argument.fidelity = fidelity;
  argument.stays_on_host = true;
}

}  // namespace

int convert(const Real& real, Function function, Direction direction, const External& given, Converter library) {
  if (given.position == nullptr) {
    return library(const_cast<void*>(given.typed), const_cast<void*>(given.packed), given.packed_size);
  }
  const bool packs = direction == Direction::pack;
  const Argument typed = buffer_of(given.typed, given.count, given.datatype);
  const Argument packed = buffer_of(given.packed_here(), 0, type_byte());
  const Count room = given.packed_size - *given.position;
  Count bytes = 0;
  const auto describe = [&](Ends& ends) {
    bytes = external_bytes(given);
    if (bytes > room && is_gpu_memory(given.packed)) throw Refused{complain_too_small()};
    Argument& bytes_of = packs ? ends.in : ends.out;
    bytes_of.count = std::min(bytes, room);                  // less than `bytes` of host memory only
    use(bytes_of, packs ? kBoth : kRead, Fidelity::packed);  // the library may write less
    use(packs ? ends.out : ends.in, packs ? kRead : kWritten, Fidelity::kept);
  };
  const auto over = [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
    const GivenArgument &values = packs ? out : in, &image = packs ? in : out;
    const bool is_staged = image.address != packed.address;
    if (bytes > room && values.address != typed.address) return complain_too_small();
    return library(values.writable(), static_cast<std::byte*>(image.writable()) - *given.position,
                   is_staged ? *given.position + bytes : given.packed_size);
  };
  return run_alone({real, function, comm_self(), message::Lifetime::call},
                   packs ? Ends{typed, packed} : Ends{packed, typed}, describe, over);
}

}  // namespace tempi::collective
