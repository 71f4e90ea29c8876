program pack_usempi
  use mpi
  implicit none
  integer :: columns
  include 'pack_body.f90'
end program
