program exchange_mpifh
  use exchange_memory
  implicit none
  include 'mpif.h'
  integer :: columns, requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  integer :: error, rank, other, round, i, n_received
  integer(c_size_t), parameter :: n_bytes = 8 * 64 * 32
  double precision, target :: matrix(64, 32), copy(64, 32)
  double precision :: expected(64, 32)
  double precision, pointer :: source(:, :), target(:, :)
  type(c_ptr) :: source_address, target_address
  logical :: right, all_right
  include 'exchange_body.f90'
end program
