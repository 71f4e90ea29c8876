// Requests that are started and completed on a stream (stream/enqueue.hpp), for tempi.h and the
// Python package.
#pragma once

namespace tempi::face {

// MPI error codes, or TEMPI_ERR_NOT_LOADED (include/tempi.h). `requests` are the program's.
int start_enqueue(int count, void* requests, void* stream);
int wait_enqueue(int count, void* requests, void* stream);
char* why_no_channel(const void* request);  // api.h
// Of a Fortran program.
int start_fortran_enqueue(int count, const int* requests, void* stream);
int wait_fortran_enqueue(int count, const int* requests, void* stream);

}  // namespace tempi::face
