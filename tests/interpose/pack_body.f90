  ! Packs every fourth column of a matrix and unpacks it elsewhere; prints ok when the values are right. Included by the
  ! three bindings' programs.
  integer :: error, position, packed_bytes, i
  double precision :: matrix(64, 32), copy(64, 32), packed(64 * 8)

  call MPI_Init(error)
  matrix = reshape([(dble(i), i = 1, size(matrix))], shape(matrix))
  copy = -1
  call MPI_Type_vector(8, 64, 4 * 64, MPI_DOUBLE_PRECISION, columns, error)
  call MPI_Type_commit(columns, error)
  packed_bytes = 8 * size(packed)
  position = 0
  call MPI_Pack(matrix, 1, columns, packed, packed_bytes, position, MPI_COMM_SELF, error)
  position = 0
  call MPI_Unpack(packed, packed_bytes, position, copy, 1, columns, MPI_COMM_SELF, error)
  if (all(copy(:, 1::4) == matrix(:, 1::4)) .and. all(copy(:, 2::4) == -1)) then
    print *, 'ok'
  else
    print *, 'wrong bytes'
  end if
  call MPI_Type_free(columns, error)
  call MPI_Finalize(error)
