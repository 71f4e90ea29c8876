  ! The variables of exchange_body.f90 that do not differ between the bindings.
  integer :: error, rank, other, round, i, n_received, first
  integer(c_size_t), parameter :: n_bytes = 8 * 64 * 32
  double precision, target :: matrix(64, 32), copy(64, 32)
  double precision :: expected(64, 32)
  double precision, pointer :: source(:, :), target(:, :)
  type(c_ptr) :: source_address, target_address
  logical :: right, all_right
