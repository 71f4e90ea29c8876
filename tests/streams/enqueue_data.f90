  integer, parameter :: n_rows = 10, n_columns = 6, n_steps = 5
  integer(c_intptr_t), parameter :: stream = 1  ! the legacy default stream
  type(c_ptr) :: c_stream, memory(2)
  real(8), pointer :: sent(:, :), received(:, :)
  real(8), target :: contents(n_rows, n_columns)
  integer(c_size_t), parameter :: n_bytes = 8 * n_rows * n_columns
  integer :: rank, n_ranks, following, previous, step, code, ierror
  interface
    subroutine test_synchronize(stream) bind(C)
      import c_intptr_t
      integer(c_intptr_t), value :: stream
    end subroutine
  end interface
