! The functions of the module tempi: a stream is set, asked for, and taken back.
program set_stream
  use, intrinsic :: iso_c_binding
  use mpi
  use tempi
  implicit none
  integer :: ierror, code
  integer(c_intptr_t) :: number
  type(c_ptr) :: pointer
  call MPI_Init(ierror)
  call TEMPI_Get_stream(number, code)
  if (code == TEMPI_ERR_NOT_LOADED) then
    print '(a)', 'not loaded'
  else
    if (number /= TEMPI_STREAM_NONE) error stop 'a stream is set at the start'
    call TEMPI_Set_stream(1_c_intptr_t, code)
    if (code /= MPI_SUCCESS) error stop 'the legacy stream is not set'
    call TEMPI_Get_stream(pointer)
    if (transfer(pointer, 0_c_intptr_t) /= 1) error stop 'another stream is set'
    call TEMPI_Set_stream(pointer)
    call TEMPI_Set_stream(int(z'77', c_intptr_t), code)
    if (code == MPI_SUCCESS) error stop 'a handle of nothing is set'
    call TEMPI_Set_stream(TEMPI_STREAM_NONE)
    call TEMPI_Get_stream(number)
    if (number /= TEMPI_STREAM_NONE) error stop 'the stream stays'
    print '(a)', 'set and taken back'
  end if
  call MPI_Finalize(ierror)
end program
