// MPI_Wait, MPI_Test and the other completing calls over arrays of requests, some of which are managed. `real`: the
// functions to which the program's call goes, MPI_ or PMPI_. Addresses of requests are those of the program.
#pragma once

#include "mpi/real.hpp"
#include "request/message.hpp"

namespace tempi::message {

int wait(const Real& real, void* request, MPI_Status* status);
int wait_all(const Real& real, int count, void* requests, MPI_Status* statuses);
// For messages that TEMPI itself posts. For an error, it calls the error handler of the message's communicator.
// (MPI_Waitall of MPICH calls the handler of MPI_COMM_WORLD.) The statuses have the error codes.
int wait_each(const Real& real, int count, void* requests, MPI_Status* statuses);
int wait_any(const Real& real, int count, void* requests, int* index, MPI_Status* status);
int wait_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses);
int test(const Real& real, void* request, int* flag, MPI_Status* status);
int test_all(const Real& real, int count, void* requests, int* flag, MPI_Status* statuses);
int test_any(const Real& real, int count, void* requests, int* index, int* flag, MPI_Status* status);
int test_some(const Real& real, int count, void* requests, int* n_done, int* indices, MPI_Status* statuses);

int request_free(const Real& real, void* request);
int request_get_status(const Real& real, Handle request, int* flag, MPI_Status* status);
int request_get_status_any(const Real& real, int count, const void* requests, int* index, int* flag,
                           MPI_Status* status);
int request_get_status_all(const Real& real, int count, const void* requests, int* flag, MPI_Status* statuses);
int request_get_status_some(const Real& real, int count, const void* requests, int* n_done, int* indices,
                            MPI_Status* statuses);
int cancel(const Real& real, void* request);

}  // namespace tempi::message
