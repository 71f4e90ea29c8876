program enqueue_usempi
  use mpi
  use tempi
  use exchange_memory
  implicit none
  integer :: row, requests(2)
  include 'enqueue_data.f90'
  include 'enqueue_body.f90'

contains

  subroutine start_and_wait()
    call TEMPI_Startall_enqueue(2, requests, stream, code)
    if (code == MPI_SUCCESS) call TEMPI_Waitall_enqueue(2, requests, stream, code)
  end subroutine
end program
