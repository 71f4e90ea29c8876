program exchange_f08
  use mpi_f08
  use exchange_memory
  implicit none
  type(MPI_Datatype) :: columns
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  include 'exchange_data.f90'
  include 'exchange_body.f90'
end program
