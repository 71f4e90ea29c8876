program exchange_f08
  use mpi_f08
  use exchange_memory
  implicit none
  type(MPI_Datatype) :: columns
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  integer :: error, rank, other, round, i, n_received
  integer(c_size_t), parameter :: n_bytes = 8 * 64 * 32
  double precision, target :: matrix(64, 32), copy(64, 32)
  double precision :: expected(64, 32)
  double precision, pointer :: source(:, :), target(:, :)
  type(c_ptr) :: source_address, target_address
  logical :: right, all_right
  include 'exchange_body.f90'
end program
