// MPI-4.1, 14.4: reading and writing files.
#include "collective/file.hpp"
#include "interpose/entry.hpp"
#include "message/message_call.hpp"
#include "message/quiet.hpp"

namespace tempi::interpose {

using namespace collective;

namespace {

Call file_call(const Real& real, Function function, Handle file, Lifetime lifetime, void* request) {
  return {real, function, comm_null(), lifetime, request, nullptr, Owner::file, file};
}

}  // namespace

// `how` runs it; `before` and `after` are the arguments beside file, buffer, count and datatype.
#define TEMPI_FILE_ENTRY(entry, name, how, lifetime, request, transfer, parameters, before, after)                    \
  TEMPI_ENTRY(entry, parameters,                                                                                      \
              passes_alone() ? call_if_there(real.entry, TEMPI_LIST before, buffer, count, datatype TEMPI_LIST after) \
                             : how(file_call(real, Function::name, file, lifetime, request), transfer, file, buffer,  \
                                   count, datatype, [&](const Lent&, const Lent& in, const Lent&) {                   \
                                     return call_if_there(real.entry, TEMPI_LIST before, in.writable(), count,        \
                                                          in.type TEMPI_LIST after);                                  \
                                   }))

#define TEMPI_BLOCKING_FILE(entry, name, Number, transfer, Buffer)                                           \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::call, nullptr, transfer,                                \
                   (Handle file, Buffer buffer, Number count, Handle datatype, MPI_Status * status), (file), \
                   (, status))
#define TEMPI_BLOCKING_FILE_AT(entry, name, Number, transfer, Buffer)                                               \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::call, nullptr, transfer,                                       \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, MPI_Status * status), \
                   (file, offset), (, status))
#define TEMPI_NONBLOCKING_FILE(entry, name, Number, transfer, Buffer)          \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::plain, request, transfer, \
                   (Handle file, Buffer buffer, Number count, Handle datatype, void* request), (file), (, request))
#define TEMPI_NONBLOCKING_FILE_AT(entry, name, Number, transfer, Buffer)                                      \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::plain, request, transfer,                                \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, void* request), \
                   (file, offset), (, request))
#define TEMPI_SPLIT_FILE(entry, name, Number, transfer, Buffer)                  \
  TEMPI_FILE_ENTRY(entry, name, begin_split, Lifetime::plain, nullptr, transfer, \
                   (Handle file, Buffer buffer, Number count, Handle datatype), (file), ())
#define TEMPI_SPLIT_FILE_AT(entry, name, Number, transfer, Buffer)               \
  TEMPI_FILE_ENTRY(entry, name, begin_split, Lifetime::plain, nullptr, transfer, \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype), (file, offset), ())

#define TEMPI_BOTH_FORMS(kind, name, transfer, Buffer) \
  kind(name, name, int, transfer, Buffer) kind(name##_c, name, Count, transfer, Buffer)

#define TEMPI_FILE(read, transfer, Buffer)                                                 \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read, transfer, Buffer)                 \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_all, transfer, Buffer)           \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_shared, transfer, Buffer)        \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_ordered, transfer, Buffer)       \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE_AT, MPI_File_##read##_at, transfer, Buffer)         \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE_AT, MPI_File_##read##_at_all, transfer, Buffer)     \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE, MPI_File_i##read, transfer, Buffer)             \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE, MPI_File_i##read##_all, transfer, Buffer)       \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE, MPI_File_i##read##_shared, transfer, Buffer)    \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE_AT, MPI_File_i##read##_at, transfer, Buffer)     \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE_AT, MPI_File_i##read##_at_all, transfer, Buffer) \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE, MPI_File_##read##_all_begin, transfer, Buffer)        \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE, MPI_File_##read##_ordered_begin, transfer, Buffer)    \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE_AT, MPI_File_##read##_at_all_begin, transfer, Buffer)  \
  TEMPI_FILE_END(MPI_File_##read##_all_end, Buffer)                                        \
  TEMPI_FILE_END(MPI_File_##read##_ordered_end, Buffer)                                    \
  TEMPI_FILE_END(MPI_File_##read##_at_all_end, Buffer)

#define TEMPI_FILE_END(name, Buffer)                                                     \
  TEMPI_ENTRY(name, (Handle file, Buffer buffer, MPI_Status * status),                   \
              end_split(file, buffer, [&](const void* given) {                           \
                return call_if_there(real.name, file, const_cast<void*>(given), status); \
              }))

TEMPI_FILE(read, Transfer::read, void*)
TEMPI_FILE(write, Transfer::write, const void*)

}  // namespace tempi::interpose
