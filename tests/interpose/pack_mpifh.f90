program pack_mpifh
  implicit none
  include 'mpif.h'
  integer :: columns
  include 'pack_body.f90'
end program
