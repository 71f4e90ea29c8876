// MPI-4.1, 5.2 Pack and Unpack, and 5.3 Canonical MPI_PACK and MPI_UNPACK.
#include "call/call_forms.hpp"
#include "call/passes_alone.hpp"
#include "collective/external.hpp"
#include "interpose/entry.hpp"
#include "mpi/errors.hpp"
#include "packing/pack_call.hpp"

namespace tempi::interpose {
namespace {

using packing::PackCall;

// Writes the new position back on every way out.
template <class Size>
int run(const Real& real, PackCall call, Size* position) {
  if (position == nullptr) return raise(call.comm, MPI_ERR_ARG);
  call.large = sizeof(Size) > sizeof(int);
  call.position = *position;
  const int code = packing::pack_or_unpack(real, call);
  *position = static_cast<Size>(call.position);
  return code;
}

PackCall pack(const void* inbuf, Count incount, Handle datatype, void* outbuf, Count outsize, Handle comm) {
  return {.direction = pack::Direction::pack,
          .typed = const_cast<void*>(inbuf),
          .packed = outbuf,
          .count = incount,
          .packed_size = outsize,
          .datatype = datatype,
          .comm = comm};
}

PackCall unpack(const void* inbuf, Count insize, void* outbuf, Count outcount, Handle datatype, Handle comm) {
  return {.direction = pack::Direction::unpack,
          .typed = outbuf,
          .packed = const_cast<void*>(inbuf),
          .count = outcount,
          .packed_size = insize,
          .datatype = datatype,
          .comm = comm};
}

}  // namespace

TEMPI_ENTRY(MPI_Pack,
            (const void* inbuf, int incount, Handle datatype, void* outbuf, int outsize, int* position, Handle comm),
            run(real, pack(inbuf, incount, datatype, outbuf, outsize, comm), position))

TEMPI_ENTRY(MPI_Unpack,
            (const void* inbuf, int insize, int* position, void* outbuf, int outcount, Handle datatype, Handle comm),
            run(real, unpack(inbuf, insize, outbuf, outcount, datatype, comm), position))

#if TEMPI_HAVE_MPI_Pack_c
TEMPI_ENTRY(MPI_Pack_c,
            (const void* inbuf, Count incount, Handle datatype, void* outbuf, Count outsize, Count* position,
             Handle comm),
            run(real, pack(inbuf, incount, datatype, outbuf, outsize, comm), position))

TEMPI_ENTRY(MPI_Unpack_c,
            (const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount, Handle datatype,
             Handle comm),
            run(real, unpack(inbuf, insize, outbuf, outcount, datatype, comm), position))
#endif

#define TEMPI_EXTERNAL(Number, entry, unentry)                                                                       \
  TEMPI_ENTRY(entry,                                                                                                 \
              (const char* representation, const void* inbuf, Number incount, Handle datatype, void* outbuf,         \
               Aint outsize, Aint* position),                                                                        \
              passes_alone()                                                                                         \
                  ? call_if_there(real.entry, representation, inbuf, incount, datatype, outbuf, outsize, position)   \
                  : collective::convert(real, Function::MPI_Pack_external, pack::Direction::pack,                    \
                                        {inbuf, incount, datatype, outbuf, outsize, position},                       \
                                        [&](const void* typed, void* packed, Aint size) {                            \
                                          return call_if_there(real.entry, representation, typed, incount, datatype, \
                                                               packed, size, position);                              \
                                        }))                                                                          \
  TEMPI_ENTRY(unentry,                                                                                               \
              (const char* representation, const void* inbuf, Aint insize, Aint* position, void* outbuf,             \
               Number outcount, Handle datatype),                                                                    \
              passes_alone()                                                                                         \
                  ? call_if_there(real.unentry, representation, inbuf, insize, position, outbuf, outcount, datatype) \
                  : collective::convert(real, Function::MPI_Unpack_external, pack::Direction::unpack,                \
                                        {outbuf, outcount, datatype, inbuf, insize, position},                       \
                                        [&](void* typed, const void* packed, Aint size) {                            \
                                          return call_if_there(real.unentry, representation, packed, size, position, \
                                                               typed, outcount, datatype);                           \
                                        }))

TEMPI_EXTERNAL(int, MPI_Pack_external, MPI_Unpack_external)
TEMPI_EXTERNAL(Count, MPI_Pack_external_c, MPI_Unpack_external_c)

}  // namespace tempi::interpose
