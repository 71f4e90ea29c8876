program pack_f08
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: columns
  include 'pack_body.f90'
end program
