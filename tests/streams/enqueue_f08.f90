program enqueue_f08
  use mpi_f08
  use tempi
  use exchange_memory
  implicit none
  type(MPI_Datatype) :: row
  type(MPI_Request) :: requests(2)
  include 'enqueue_data.f90'
  include 'enqueue_body.f90'

contains

  subroutine start_and_wait()
    call TEMPI_Start_enqueue(requests(1)%MPI_VAL, c_stream, code)
    if (code == MPI_SUCCESS) call TEMPI_Start_enqueue(requests(2)%MPI_VAL, c_stream, code)
    if (code == MPI_SUCCESS) call TEMPI_Waitall_enqueue(2, requests%MPI_VAL, c_stream, code)
  end subroutine
end program
