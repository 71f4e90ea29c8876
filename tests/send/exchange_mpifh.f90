program exchange_mpifh
  use exchange_memory
  implicit none
  include 'mpif.h'
  integer :: columns, requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  include 'exchange_data.f90'
  include 'exchange_body.f90'
end program
