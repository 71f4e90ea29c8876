! The memory of the exchange programs, from exchange_memory.c.
module exchange_memory
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function test_allocate(n_bytes) bind(C)
      import c_ptr, c_size_t
      integer(c_size_t), value :: n_bytes
      type(c_ptr) :: test_allocate
    end function
    subroutine test_copy(to, from, n_bytes) bind(C)
      import c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: n_bytes
    end subroutine
  end interface
end module
