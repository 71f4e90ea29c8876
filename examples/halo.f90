! A 3-D halo exchange with derived datatypes. Plain MPI: the program knows nothing of TEMPI.
!
!   mpifort -O2 -o halo examples/halo.f90
!   tempi run -- mpirun -n 4 ./halo
program halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  implicit none
  integer, parameter :: n = 64, n_rounds = 20
  real(real64), allocatable, asynchronous :: cells(:, :, :)
  type(MPI_Comm) :: grid
  type(MPI_Datatype) :: own(6), ghost(6)   ! low and high side of each dimension
  integer :: neighbour(6), dims(3), coords(3), rank, n_ranks, n_wrong, i
  real(real64) :: begin, microseconds

  call MPI_Init()
  call make_grid()
  allocate (cells(0:n + 1, 0:n + 1, 0:n + 1))
  call fill()

  call exchange()
  call MPI_Barrier(grid)
  begin = MPI_Wtime()
  do i = 1, n_rounds
    call exchange()
  end do
  microseconds = (MPI_Wtime() - begin) / n_rounds * 1e6

  n_wrong = wrong_cells()
  call MPI_Allreduce(MPI_IN_PLACE, n_wrong, 1, MPI_INTEGER, MPI_SUM, grid)
  if (rank == 0) print '(i0, a, i0, a, i0, a)', n_ranks, " ranks, ", nint(microseconds), " us an exchange, ", &
    n_wrong, " wrong cells"
  call free_grid()
  call MPI_Finalize()
  if (n_wrong /= 0) error stop 1

contains

  subroutine make_grid()
    integer :: d
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
    dims = 0
    call MPI_Dims_create(n_ranks, 3, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.true., .true., .true.], .false., grid)
    call MPI_Comm_rank(grid, rank)
    call MPI_Cart_coords(grid, rank, 3, coords)
    do d = 1, 3
      call MPI_Cart_shift(grid, d - 1, 1, neighbour(2 * d - 1), neighbour(2 * d))
      own(2 * d - 1) = layer(d, 1)
      own(2 * d) = layer(d, n)
      ghost(2 * d - 1) = layer(d, 0)
      ghost(2 * d) = layer(d, n + 1)
    end do
  end subroutine

  ! The layer of inner cells whose index in this dimension is `index`.
  function layer(dimension, index) result(datatype)
    integer, intent(in) :: dimension, index
    type(MPI_Datatype) :: datatype
    integer :: subsizes(3), starts(3)
    subsizes = n
    starts = 1                             ! counted from 0, whatever the bounds of the array
    subsizes(dimension) = 1
    starts(dimension) = index
    call MPI_Type_create_subarray(3, [n + 2, n + 2, n + 2], subsizes, starts, MPI_ORDER_FORTRAN, &
                                  MPI_DOUBLE_PRECISION, datatype)
    call MPI_Type_commit(datatype)
  end function

  ! The tag is the side that the message leaves by: it arrives at the opposite side of the neighbour.
  subroutine exchange()
    integer, parameter :: opposite(6) = [2, 1, 4, 3, 6, 5]
    type(MPI_Request) :: requests(12)
    integer :: side
    do side = 1, 6
      call MPI_Irecv(cells, 1, ghost(side), neighbour(side), opposite(side), grid, requests(side))
    end do
    do side = 1, 6
      call MPI_Isend(cells, 1, own(side), neighbour(side), side, grid, requests(6 + side))
    end do
    call MPI_Waitall(12, requests, MPI_STATUSES_IGNORE)
  end subroutine

  ! Each cell holds its number in the global grid, which is periodic. Ghost cells at edges and corners, which are not
  ! exchanged, hold -1.
  integer function expected(x, y, z)
    integer, intent(in) :: x, y, z
    integer :: at(3), n_all(3)
    n_all = n * dims
    at = modulo(coords * n + [x, y, z] - 1, n_all)
    expected = (at(1) * n_all(2) + at(2)) * n_all(3) + at(3)
    if (count([x, y, z] == 0 .or. [x, y, z] > n) > 1) expected = -1
  end function

  subroutine fill()
    integer :: x, y, z
    cells = -1
    do z = 1, n
      do y = 1, n
        do x = 1, n
          cells(x, y, z) = expected(x, y, z)
        end do
      end do
    end do
  end subroutine

  integer function wrong_cells()
    integer :: x, y, z
    wrong_cells = 0
    do z = 0, n + 1
      do y = 0, n + 1
        do x = 0, n + 1
          if (nint(cells(x, y, z)) /= expected(x, y, z)) wrong_cells = wrong_cells + 1
        end do
      end do
    end do
  end function

  subroutine free_grid()
    integer :: side
    do side = 1, 6
      call MPI_Type_free(own(side))
      call MPI_Type_free(ghost(side))
    end do
    call MPI_Comm_free(grid)
  end subroutine
end program
