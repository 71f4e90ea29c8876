! TEMPI's functions for Fortran: the CUDA stream in which MPI calls of a thread are ordered, and persistent requests that
! are started and completed on a stream (docs/streams.md).
!
! Compile this file with the program. The functions are looked up in the running process: a program that uses them also
! runs without TEMPI, where they return TEMPI_ERR_NOT_LOADED and the program synchronises its streams itself.
!
!   use tempi
!   call TEMPI_Set_stream(stream, ierror)     ! integer(c_intptr_t) or type(c_ptr), as cudaStream_t
!
!   call TEMPI_Startall_enqueue(n, requests, stream, ierror)     ! integers; with mpi_f08: requests%MPI_VAL
!   call TEMPI_Waitall_enqueue(n, requests, stream, ierror)
!
! ierror is optional: MPI_SUCCESS, an MPI error code, or TEMPI_ERR_NOT_LOADED.
module tempi
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: TEMPI_Set_stream, TEMPI_Get_stream
  public :: TEMPI_Start_enqueue, TEMPI_Startall_enqueue, TEMPI_Wait_enqueue, TEMPI_Waitall_enqueue

  integer(c_intptr_t), parameter, public :: TEMPI_STREAM_NONE = -1_c_intptr_t
  integer, parameter, public :: TEMPI_ERR_NOT_LOADED = -1

  interface TEMPI_Set_stream
    module procedure set_number, set_pointer
  end interface
  interface TEMPI_Get_stream
    module procedure get_number, get_pointer
  end interface

  interface TEMPI_Startall_enqueue
    module procedure startall_number, startall_pointer
  end interface
  interface TEMPI_Waitall_enqueue
    module procedure waitall_number, waitall_pointer
  end interface
  interface TEMPI_Start_enqueue
    module procedure start_number, start_pointer
  end interface
  interface TEMPI_Wait_enqueue
    module procedure wait_number, wait_pointer
  end interface

  abstract interface
    integer(c_int) function set_function(stream) bind(C)
      import :: c_int, c_intptr_t
      integer(c_intptr_t), value :: stream
    end function
    integer(c_int) function get_function(stream) bind(C)
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(out) :: stream
    end function
    integer(c_int) function enqueue_function(count, requests, stream) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: count
      integer(c_int), intent(in) :: requests(*)
      integer(c_intptr_t), value :: stream
    end function
  end interface

  interface
    type(c_funptr) function dlsym(handle, name) bind(C, name="dlsym")
      import :: c_funptr, c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

contains

  subroutine set_number(stream, ierror)
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    procedure(set_function), pointer :: set
    type(c_funptr) :: found
    integer :: code
    code = TEMPI_ERR_NOT_LOADED
    found = dlsym(c_null_ptr, "TEMPI_Set_stream"//c_null_char)
    if (c_associated(found)) then
      call c_f_procpointer(found, set)
      code = set(stream)
    end if
    if (present(ierror)) ierror = code
  end subroutine

  subroutine set_pointer(stream, ierror)
    type(c_ptr), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call set_number(transfer(stream, 0_c_intptr_t), ierror)
  end subroutine

  subroutine get_number(stream, ierror)
    integer(c_intptr_t), intent(out) :: stream
    integer, optional, intent(out) :: ierror
    procedure(get_function), pointer :: get
    type(c_funptr) :: found
    integer :: code
    code = TEMPI_ERR_NOT_LOADED
    stream = TEMPI_STREAM_NONE
    found = dlsym(c_null_ptr, "TEMPI_Get_stream"//c_null_char)
    if (c_associated(found)) then
      call c_f_procpointer(found, get)
      code = get(stream)
    end if
    if (present(ierror)) ierror = code
  end subroutine

  subroutine get_pointer(stream, ierror)
    type(c_ptr), intent(out) :: stream
    integer, optional, intent(out) :: ierror
    integer(c_intptr_t) :: number
    call get_number(number, ierror)
    stream = transfer(number, stream)
  end subroutine

  subroutine startall_number(count, requests, stream, ierror)
    integer, intent(in) :: count, requests(*)
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call enqueue("TEMPI_Startall_enqueue_fortran", count, requests, stream, ierror)
  end subroutine

  subroutine startall_pointer(count, requests, stream, ierror)
    integer, intent(in) :: count, requests(*)
    type(c_ptr), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call startall_number(count, requests, transfer(stream, 0_c_intptr_t), ierror)
  end subroutine

  subroutine start_number(request, stream, ierror)
    integer, intent(in) :: request
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call startall_number(1, [request], stream, ierror)
  end subroutine

  subroutine start_pointer(request, stream, ierror)
    integer, intent(in) :: request
    type(c_ptr), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call start_number(request, transfer(stream, 0_c_intptr_t), ierror)
  end subroutine

  subroutine waitall_number(count, requests, stream, ierror)
    integer, intent(in) :: count, requests(*)
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call enqueue("TEMPI_Waitall_enqueue_fortran", count, requests, stream, ierror)
  end subroutine

  subroutine waitall_pointer(count, requests, stream, ierror)
    integer, intent(in) :: count, requests(*)
    type(c_ptr), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call waitall_number(count, requests, transfer(stream, 0_c_intptr_t), ierror)
  end subroutine

  subroutine wait_number(request, stream, ierror)
    integer, intent(in) :: request
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call waitall_number(1, [request], stream, ierror)
  end subroutine

  subroutine wait_pointer(request, stream, ierror)
    integer, intent(in) :: request
    type(c_ptr), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    call wait_number(request, transfer(stream, 0_c_intptr_t), ierror)
  end subroutine

  subroutine enqueue(name, count, requests, stream, ierror)
    character(*), intent(in) :: name
    integer, intent(in) :: count, requests(*)
    integer(c_intptr_t), intent(in) :: stream
    integer, optional, intent(out) :: ierror
    procedure(enqueue_function), pointer :: found_function
    type(c_funptr) :: found
    integer :: code
    code = TEMPI_ERR_NOT_LOADED
    found = dlsym(c_null_ptr, name//c_null_char)
    if (c_associated(found)) then
      call c_f_procpointer(found, found_function)
      code = found_function(count, requests, stream)
    end if
    if (present(ierror)) ierror = code
  end subroutine

end module tempi
