  ! Sends every fourth column of a matrix to the other rank, blocking and not, in host memory or the fake device's.
  ! Then collective calls over the same memory. Prints ok on rank 0 when both ranks hold the right values. Included by
  ! the three bindings' programs.
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  matrix = reshape([(dble(i + 10000 * rank), i = 1, size(matrix))], shape(matrix))
  expected = reshape([(dble(i + 10000 * other), i = 1, size(matrix))], shape(matrix))
  call MPI_Type_vector(8, 64, 4 * 64, MPI_DOUBLE_PRECISION, columns, error)
  call MPI_Type_commit(columns, error)
  source_address = test_allocate(n_bytes)
  target_address = test_allocate(n_bytes)
  call c_f_pointer(source_address, source, shape(matrix))
  call c_f_pointer(target_address, target, shape(matrix))
  call test_copy(source_address, c_loc(matrix), n_bytes)

  right = .true.
  do round = 1, 3
    copy = -1
    call test_copy(target_address, c_loc(copy), n_bytes)
    if (round == 1) then
      call MPI_Irecv(target, 1, columns, other, round, MPI_COMM_WORLD, requests(1), error)
      call MPI_Isend(source, 1, columns, other, round, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, statuses, error)
    else if ((round == 2) .eqv. (rank == 0)) then
      call MPI_Send(source, 1, columns, other, round, MPI_COMM_WORLD, error)
      call MPI_Recv(target, 1, columns, other, round, MPI_COMM_WORLD, status, error)
    else
      call MPI_Recv(target, 1, columns, other, round, MPI_COMM_WORLD, status, error)
      call MPI_Send(source, 1, columns, other, round, MPI_COMM_WORLD, error)
    end if
    if (round > 1) then
      call MPI_Get_count(status, columns, n_received, error)
      right = right .and. n_received == 1
    end if
    call test_copy(c_loc(copy), target_address, n_bytes)
    right = right .and. all(copy(:, 1::4) == expected(:, 1::4)) .and. all(copy(:, 2::4) == -1)
  end do

  copy = -1
  if (rank == 0) copy = matrix
  call test_copy(target_address, c_loc(copy), n_bytes)
  call MPI_Bcast(target, 1, columns, 0, MPI_COMM_WORLD, error)
  call test_copy(c_loc(copy), target_address, n_bytes)
  if (rank == 1) right = right .and. all(copy(:, 1::4) == expected(:, 1::4)) .and. all(copy(:, 2::4) == -1)

  call MPI_Allreduce(source, target, size(matrix), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call test_copy(c_loc(copy), target_address, n_bytes)
  right = right .and. all(copy == matrix + expected)

  call MPI_Alltoall(source, 64 * 16, MPI_DOUBLE_PRECISION, target, 64 * 16, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call test_copy(c_loc(copy), target_address, n_bytes)
  first = 16 * rank + 1
  right = right .and. all(copy(:, 16 * rank + 1:16 * rank + 16) == matrix(:, first:first + 15))
  right = right .and. all(copy(:, 16 * other + 1:16 * other + 16) == expected(:, first:first + 15))

  call MPI_Allreduce(right, all_right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_right) print *, 'ok'
  if (rank == 0 .and. .not. all_right) print *, 'wrong values'
  call MPI_Type_free(columns, error)
  call MPI_Finalize(error)
