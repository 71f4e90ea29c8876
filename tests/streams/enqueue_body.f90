  ! Each rank sends the second row of an array to the next rank, as its third row.
  c_stream = transfer(stream, c_stream)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
  following = mod(rank + 1, n_ranks)
  previous = mod(rank + n_ranks - 1, n_ranks)
  memory = [test_allocate(n_bytes), test_allocate(n_bytes)]
  call c_f_pointer(memory(1), sent, [n_rows, n_columns])
  call c_f_pointer(memory(2), received, [n_rows, n_columns])
  call MPI_Type_vector(n_columns, 1, n_rows, MPI_DOUBLE_PRECISION, row, ierror)
  call MPI_Type_commit(row, ierror)
  call MPI_Recv_init(received(3, 1), 1, row, previous, 0, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send_init(sent(2, 1), 1, row, following, 0, MPI_COMM_WORLD, requests(2), ierror)
  do step = 1, n_steps
    contents = 100 * rank + step
    call test_copy(memory(1), c_loc(contents), n_bytes)
    contents = -1
    call test_copy(memory(2), c_loc(contents), n_bytes)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call start_and_wait()
    if (code == TEMPI_ERR_NOT_LOADED) exit
    if (code /= MPI_SUCCESS) error stop 'an exchange has failed'
    call test_synchronize(stream)
    call test_copy(c_loc(contents), memory(2), n_bytes)
    if (any(contents(3, :) /= 100 * previous + step)) error stop 'wrong values'
    if (count(contents == -1) /= (n_rows - 1) * n_columns) error stop 'values beside the row'
  end do
  if (rank == 0) then
    if (code == MPI_SUCCESS) print '(a)', 'ok'
    if (code == TEMPI_ERR_NOT_LOADED) print '(a)', 'not loaded'
  end if
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  call MPI_Finalize(ierror)
