// MPI-4.1, 14.4: reading and writing files.
#include "call/call_forms.hpp"
#include "call/passes_alone.hpp"
#include "collective/file.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {

using namespace collective;

namespace {

Call file_call(const Real& real, Function function, Handle file, Lifetime lifetime, void* request) {
  return {real, function, comm_null(), lifetime, request, nullptr, Owner::file, file};
}

}  // namespace

// `how` runs it; `before` and `after` are the arguments beside file, buffer, count and datatype.
#define TEMPI_FILE_ENTRY(entry, name, how, lifetime, request, file_access, parameters, before, after)               \
  TEMPI_ENTRY(entry, parameters,                                                                                    \
              passes_alone()                                                                                        \
                  ? call_if_there(real.entry, TEMPI_LIST before, buffer, count, datatype TEMPI_LIST after)          \
                  : how(file_call(real, Function::name, file, lifetime, request), file_access, file, buffer, count, \
                        datatype, [&](const GivenArgument&, const GivenArgument& in, const GivenArgument&) {        \
                          return call_if_there(real.entry, TEMPI_LIST before, in.writable(), count,                 \
                                               in.type TEMPI_LIST after);                                           \
                        }))

#define TEMPI_BLOCKING_FILE(entry, name, Number, file_access, Buffer)                                        \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::call, nullptr, file_access,                             \
                   (Handle file, Buffer buffer, Number count, Handle datatype, MPI_Status * status), (file), \
                   (, status))
#define TEMPI_BLOCKING_FILE_AT(entry, name, Number, file_access, Buffer)                                            \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::call, nullptr, file_access,                                    \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, MPI_Status * status), \
                   (file, offset), (, status))
// A call that a process makes alone: it may be carried out in parts.
#define TEMPI_PARTS_OF_FILE(entry, name, Number, file_access, parameters, before, before_part)                       \
  TEMPI_ENTRY(entry, parameters,                                                                                     \
              passes_alone()                                                                                         \
                  ? call_if_there(real.entry, TEMPI_LIST before, buffer, count, datatype, status)                    \
                  : move_in_parts(file_call(real, Function::name, file, Lifetime::call, nullptr), file_access, file, \
                                  buffer, count, datatype, status, [&](const FilePart& part) {                       \
                                    return call_if_there(real.entry, TEMPI_LIST before_part, part.writable(),        \
                                                         static_cast<Number>(part.count), part.type, part.status()); \
                                  }))
#define TEMPI_OWN_FILE(entry, name, Number, file_access, Buffer)                                                \
  TEMPI_PARTS_OF_FILE(entry, name, Number, file_access,                                                         \
                      (Handle file, Buffer buffer, Number count, Handle datatype, MPI_Status * status), (file), \
                      (file))
#define TEMPI_OWN_FILE_AT(entry, name, Number, file_access, Buffer)                                                    \
  TEMPI_PARTS_OF_FILE(entry, name, Number, file_access,                                                                \
                      (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, MPI_Status * status), \
                      (file, offset), (file, offset + part.etypes))

// A nonblocking call that a process makes alone.
#define TEMPI_LATER_FILE(entry, name, Number, file_access, Buffer)                            \
  TEMPI_FILE_ENTRY(entry, name, move_later, Lifetime::plain, request, LaterFile{file_access}, \
                   (Handle file, Buffer buffer, Number count, Handle datatype, void* request), (file), (, request))
#define TEMPI_LATER_FILE_AT(entry, name, Number, file_access, Buffer)                                         \
  TEMPI_FILE_ENTRY(entry, name, move_later, Lifetime::plain, request, (LaterFile{file_access, offset}),       \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, void* request), \
                   (file, offset), (, request))

#define TEMPI_NONBLOCKING_FILE(entry, name, Number, file_access, Buffer)          \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::plain, request, file_access, \
                   (Handle file, Buffer buffer, Number count, Handle datatype, void* request), (file), (, request))
#define TEMPI_NONBLOCKING_FILE_AT(entry, name, Number, file_access, Buffer)                                   \
  TEMPI_FILE_ENTRY(entry, name, move_file, Lifetime::plain, request, file_access,                             \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype, void* request), \
                   (file, offset), (, request))
#define TEMPI_SPLIT_FILE(entry, name, Number, file_access, Buffer)                  \
  TEMPI_FILE_ENTRY(entry, name, begin_split, Lifetime::plain, nullptr, file_access, \
                   (Handle file, Buffer buffer, Number count, Handle datatype), (file), ())
#define TEMPI_SPLIT_FILE_AT(entry, name, Number, file_access, Buffer)               \
  TEMPI_FILE_ENTRY(entry, name, begin_split, Lifetime::plain, nullptr, file_access, \
                   (Handle file, Offset offset, Buffer buffer, Number count, Handle datatype), (file, offset), ())

#define TEMPI_BOTH_FORMS(kind, name, file_access, Buffer) \
  kind(name, name, int, file_access, Buffer) kind(name##_c, name, Count, file_access, Buffer)

#define TEMPI_FILE(read, file_access, Buffer)                                                 \
  TEMPI_BOTH_FORMS(TEMPI_OWN_FILE, MPI_File_##read, file_access, Buffer)                      \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_all, file_access, Buffer)           \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_shared, file_access, Buffer)        \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE, MPI_File_##read##_ordered, file_access, Buffer)       \
  TEMPI_BOTH_FORMS(TEMPI_OWN_FILE_AT, MPI_File_##read##_at, file_access, Buffer)              \
  TEMPI_BOTH_FORMS(TEMPI_BLOCKING_FILE_AT, MPI_File_##read##_at_all, file_access, Buffer)     \
  TEMPI_BOTH_FORMS(TEMPI_LATER_FILE, MPI_File_i##read, file_access, Buffer)                   \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE, MPI_File_i##read##_all, file_access, Buffer)       \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE, MPI_File_i##read##_shared, file_access, Buffer)    \
  TEMPI_BOTH_FORMS(TEMPI_LATER_FILE_AT, MPI_File_i##read##_at, file_access, Buffer)           \
  TEMPI_BOTH_FORMS(TEMPI_NONBLOCKING_FILE_AT, MPI_File_i##read##_at_all, file_access, Buffer) \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE, MPI_File_##read##_all_begin, file_access, Buffer)        \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE, MPI_File_##read##_ordered_begin, file_access, Buffer)    \
  TEMPI_BOTH_FORMS(TEMPI_SPLIT_FILE_AT, MPI_File_##read##_at_all_begin, file_access, Buffer)  \
  TEMPI_FILE_END(MPI_File_##read##_all_end, Buffer)                                           \
  TEMPI_FILE_END(MPI_File_##read##_ordered_end, Buffer)                                       \
  TEMPI_FILE_END(MPI_File_##read##_at_all_end, Buffer)

#define TEMPI_FILE_END(name, Buffer)                                                     \
  TEMPI_ENTRY(name, (Handle file, Buffer buffer, MPI_Status * status),                   \
              end_split(file, buffer, [&](const void* given) {                           \
                return call_if_there(real.name, file, const_cast<void*>(given), status); \
              }))

TEMPI_FILE(read, FileAccess::read, void*)
TEMPI_FILE(write, FileAccess::write, const void*)

}  // namespace tempi::interpose
