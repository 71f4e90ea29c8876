#include "collective/file_view.hpp"

#include <array>
#include <string_view>

#include "mpi/real.hpp"

namespace tempi::collective {
namespace {

void free_if_derived(Handle type) {
  int integers = 0, addresses = 0, datatypes = 0, combiner = 0;
  real_pmpi().MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  const bool is_predefined = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
                             combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  if (!is_predefined) real_pmpi().MPI_Type_free(&type);
}

}  // namespace

FileView view_of(Handle file) {
  Offset displacement = 0;
  Handle element = 0, filetype = 0;
  std::array<char, MPI_MAX_DATAREP_STRING + 1> name{};
  if (real_pmpi().MPI_File_get_view(file, &displacement, &element, &filetype, name.data()) != MPI_SUCCESS) return {};
  FileView view{std::string_view(name.data()) == "native"};
  real_pmpi().MPI_Type_size_x(element, &view.etype_bytes);
  free_if_derived(element);
  free_if_derived(filetype);
  return view;
}

bool has_offsets(Handle file) {
  int mode = 0;
  return key_of(file) != key_of(file_null()) && real_pmpi().MPI_File_get_amode(file, &mode) == MPI_SUCCESS &&
         (mode & MPI_MODE_SEQUENTIAL) == 0;
}

bool is_atomic(Handle file) {
  int is_on = 1;
  return real_pmpi().MPI_File_get_atomicity(file, &is_on) != MPI_SUCCESS || is_on != 0;
}

Offset position_of(Handle file) {
  Offset position = 0;
  real_pmpi().MPI_File_get_position(file, &position);
  return position;
}

void set_position(Handle file, Offset position) { real_pmpi().MPI_File_seek(file, position, MPI_SEEK_SET); }

}  // namespace tempi::collective
