// MPICH's stream extensions (include/tempi_mpix.h). Streams of CUDA are TEMPI's, with any MPI library. Other streams,
// and their communicators, go to the library if it has these functions.
//
// libtempi.so exports the names only if the library has them. Programs look up names by dlsym to find out what a
// library can do, and TEMPI has only a part of these extensions. include/tempi_mpix.h finds the functions by
// tempi_mpix().
#include <cstdio>
#include <cstring>

#include "collective/own_comm.hpp"
#include "interpose/creation.hpp"
#include "interpose/stream_entry.hpp"
#include "peer/peer.hpp"
#include "stream/stream_comm.hpp"
#include "stream/stream_handles.hpp"

namespace tempi::interpose {
namespace {

// ---- MPIX_Stream

constexpr int kMostDigits = 64;

// False: there is none.
bool value_of(Handle info, const char* key, char (&value)[kMostDigits + 1]) {
  int flag = 0;
  if (key_of(info) == key_of(info_null())) return false;
  return real_pmpi().MPI_Info_get(info, key, kMostDigits, value, &flag) == MPI_SUCCESS && flag != 0;
}

int stream_create(const Real& real, Handle info, int* stream) {
  char text[kMostDigits + 1] = {};
  const bool is_cuda = value_of(info, "type", text) && std::strcmp(text, "cudaStream_t") == 0;
  if (!is_cuda || !handles_calls()) return to_library(real.MPIX_Stream_create, comm_world(), info, stream);
  return told(comm_world(), [&] {
    device::StreamHandle handle = nullptr;
    if (!value_of(info, "value", text) || !decode_hex(text, static_cast<void*>(&handle), sizeof handle))
      throw Error(ErrorKind::stream, "the info of MPIX_Stream_create has no value that MPIX_Info_set_hex has set");
    device::Device* const device = device::current();
    if (device == nullptr) throw Error(ErrorKind::stream, "this process uses no GPU");
    device->program_stream(handle);
    *stream = add_mpix_stream(handle);
    return MPI_SUCCESS;
  });
}

int stream_free(const Real& real, int* stream) {
  if (stream == nullptr || !remove_mpix_stream(*stream)) return to_library(real.MPIX_Stream_free, comm_world(), stream);
  *stream = kNoMpixStream;
  return MPI_SUCCESS;
}

// ---- communicators

enum StreamKinds : std::uint8_t { kOurs = 1, kLibrarys = 2, kIntercomm = 4 };

// Those of all processes of the communicator.
int kinds_of_all(Handle comm, bool is_ours, int stream, std::uint8_t& kinds) {
  int is_inter = 0;
  if (const int code = real_pmpi().MPI_Comm_test_inter(comm, &is_inter); code != MPI_SUCCESS) return code;
  std::uint8_t without = 0xff;
  if (is_ours) without &= static_cast<std::uint8_t>(~kOurs);
  else if (stream != kNoMpixStream) without &= static_cast<std::uint8_t>(~kLibrarys);
  std::uint8_t common = 0;
  const auto reduce = [&](const std::uint8_t& its, std::uint8_t& result) {
    return real_pmpi().MPI_Allreduce(&its, &result, 1, type_byte(), op_bitwise_and(), comm);
  };
  int code = reduce(without, common);
  if (is_inter != 0 && code == MPI_SUCCESS) {  // `common` is that of the other group
    std::uint8_t of_this_group = 0;
    code = reduce(common, of_this_group);
    common &= of_this_group;
  }
  kinds = static_cast<std::uint8_t>(~common | (is_inter != 0 ? kIntercomm : 0));
  return code;
}

int duplicate(const Real& real, Handle comm, void* made) {
  return create(comm, made, kNever, [&](void* into) { return real.MPI_Comm_dup(comm, into); });
}

void add_stream(Handle comm, int stream, Handle made) {
  int rank = 0;
  real_pmpi().MPI_Comm_rank(comm, &rank);
  const auto announcements = collective::make_own_comm(comm, 0, rank),
             replies = collective::make_own_comm(comm, 0, rank);
  try {
    if (!announcements || !replies) throw Error(ErrorKind::unexpected, "the MPI library has made no communicator");
    const std::optional<device::StreamHandle> handle = find_mpix_stream(stream);
    add_stream_comm(made, handle ? stream : kNoMpixStream, handle.value_or(nullptr), announcements->handle,
                    replies->handle);
  } catch (...) {
    for (const auto& own : {announcements, replies}) {
      if (own) own->is_freed = true;
    }
    throw;
  }
}

int duplicate_with_stream(const Real& real, Handle comm, int stream, void* made) {
  if (const int code = duplicate(real, comm, made); code != MPI_SUCCESS) return code;
  try {
    add_stream(comm, stream, load_handle(made));
  } catch (...) {
    Handle without = load_handle(made);
    peer::communicator_ends(without);
    real_pmpi().MPI_Comm_free(&without);
    store_handle(made, comm_null());
    throw;
  }
  return MPI_SUCCESS;
}

int comm_create(const Real& real, Handle comm, int stream, void* made) {
  const bool is_ours = find_mpix_stream(stream).has_value();
  if (!handles_calls()) return to_library(real.MPIX_Stream_comm_create, comm, comm, stream, made);
  flush_sends();
  std::uint8_t kinds = 0;
  if (const int code = kinds_of_all(comm, is_ours, stream, kinds); code != MPI_SUCCESS) return code;
  if ((kinds & kOurs) == 0) {
    const bool is_plain = (kinds & kLibrarys) == 0 && real.MPIX_Stream_comm_create == nullptr;
    return is_plain ? duplicate(real, comm, made) : to_library(real.MPIX_Stream_comm_create, comm, comm, stream, made);
  }
  return guarded_and_tended(comm, [&] {
    if ((kinds & (kLibrarys | kIntercomm)) != 0)
      throw Error(ErrorKind::stream,
                  "MPIX_Stream_comm_create: the communicator is an inter-communicator, or a process gives a stream "
                  "that is not one of CUDA, or that it has freed");
    return duplicate_with_stream(real, comm, stream, made);
  });
}

int get_stream(const Real& real, Handle comm, int index, int* stream) {
  const StreamCommPtr known = find_stream_comm(comm);
  if (!known && real.MPIX_Comm_get_stream != nullptr) return real.MPIX_Comm_get_stream(comm, index, stream);
  *stream = known && index == 0 ? known->mpix_stream : kNoMpixStream;
  return MPI_SUCCESS;
}

}  // namespace

TEMPI_ENTRY(MPIX_Stream_create, (Handle info, int* stream), stream_create(real, info, stream))
TEMPI_ENTRY(MPIX_Stream_free, (int* stream), stream_free(real, stream))
TEMPI_ENTRY(MPIX_Stream_comm_create, (Handle comm, int stream, void* made), comm_create(real, comm, stream, made))
TEMPI_ENTRY(MPIX_Comm_get_stream, (Handle comm, int index, int* stream), get_stream(real, comm, index, stream))

namespace {

// MPIX_Info_set_hex of libraries that lack it.
int info_set_hex(Handle info, const char* key, const void* value, int bytes) {
  constexpr int kMostBytes = 512;
  if (bytes < 0 || bytes > kMostBytes) return raise(comm_world(), MPI_ERR_INFO_VALUE);
  char text[2 * kMostBytes + 1] = {};
  for (int i = 0; i < bytes; ++i)
    std::snprintf(text + std::size_t{2} * static_cast<std::size_t>(i), 3, "%02x",
                  static_cast<const unsigned char*>(value)[i]);
  return real_pmpi().MPI_Info_set(info, key, text);
}

const EntryRow kRows[] = {TEMPI_ENTRY_ROW(MPIX_Stream_create), TEMPI_ENTRY_ROW(MPIX_Stream_free),
                          TEMPI_ENTRY_ROW(MPIX_Stream_comm_create), TEMPI_ENTRY_ROW(MPIX_Comm_get_stream)};

}  // namespace
}  // namespace tempi::interpose

// The function of that name for include/tempi_mpix.h. Null: TEMPI has none.
extern "C" __attribute__((visibility("default"))) void* tempi_mpix(const char* name) {
  using namespace tempi;
  if (std::strcmp(name, "MPIX_Info_set_hex") == 0) {
    void* const real = real_symbol(name);
    return real != nullptr ? real : reinterpret_cast<void*>(&interpose::info_set_hex);
  }
  void* const found = interpose::find_entry(interpose::kRows, name);
  return found != nullptr ? found : interpose::find_enqueue_entry(name);
}
