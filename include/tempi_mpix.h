/* MPICH's stream extensions with any MPI library: messages as work of a CUDA stream.
 *
 *   MPI_Info_create(&info);
 *   MPI_Info_set(info, "type", "cudaStream_t");
 *   MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
 *   MPIX_Stream_create(info, &mpix_stream);
 *   MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix_stream, &comm);
 *   fill<<<grid, block, 0, stream>>>(array);
 *   MPIX_Send_enqueue(array, 1, face, peer, tag, comm);     sends what the kernel writes: the CPU does not wait for it
 *
 * docs/streams.md explains the rules. If mpi.h is MPICH's and has these functions, this header only includes it. Else
 * it defines them. The functions are looked up in the running process: first TEMPI's, then the MPI library's. A program
 * that uses them needs no library to link. If neither has a function, the call returns MPI_ERR_UNSUPPORTED_OPERATION,
 * and calls no error handler.
 */
#ifndef TEMPI_MPIX_H
#define TEMPI_MPIX_H

#include <mpi.h>

#ifndef MPIX_STREAM_NULL

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)

/* The function of that name; null: there is none. */
static inline void* tempi_mpix_function(const char* name) {
  void* (*find)(const char*);
  void* found = (void*)0;
  *(void**)&find = dlsym((void*)0, "tempi_mpix");
  if (find) found = find(name);
  return found ? found : dlsym((void*)0, name);
}

#define TEMPI_MPIX(name, parameters, arguments)                           \
  static inline int name parameters {                                     \
    static int(*function) parameters;                                     \
    if (!function) *(void**)&function = tempi_mpix_function(#name);       \
    return function ? function arguments : MPI_ERR_UNSUPPORTED_OPERATION; \
  }

/* Sets the value of a key to `bytes` bytes of memory, as hexadecimal digits. */
TEMPI_MPIX(MPIX_Info_set_hex, (MPI_Info info, const char* key, const void* value, int bytes), (info, key, value, bytes))

/* Makes an MPIX_Stream. The info has "type", "cudaStream_t", and as "value" the hexadecimal bytes of the stream. */
TEMPI_MPIX(MPIX_Stream_create, (MPI_Info info, MPIX_Stream* stream), (info, stream))
/* Communicators that have the stream keep it. */
TEMPI_MPIX(MPIX_Stream_free, (MPIX_Stream * stream), (stream))
/* A duplicate of `comm` that has the stream. All processes of `comm` call it, each with a stream of its own. */
TEMPI_MPIX(MPIX_Stream_comm_create, (MPI_Comm comm, MPIX_Stream stream, MPI_Comm* made), (comm, stream, made))
/* The stream of the communicator, with index 0; MPIX_STREAM_NULL: it has none. */
TEMPI_MPIX(MPIX_Comm_get_stream, (MPI_Comm comm, int index, MPIX_Stream* stream), (comm, index, stream))

/* Each of these calls queues its exchange in the stream of the communicator. */
#define TEMPI_MPIX_SIZED(suffix, Size)                                                                             \
  TEMPI_MPIX(MPIX_Send_enqueue##suffix,                                                                            \
             (const void* buffer, Size count, MPI_Datatype datatype, int destination, int tag, MPI_Comm comm),     \
             (buffer, count, datatype, destination, tag, comm))                                                    \
  TEMPI_MPIX(                                                                                                      \
      MPIX_Recv_enqueue##suffix,                                                                                   \
      (void* buffer, Size count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status),   \
      (buffer, count, datatype, source, tag, comm, status))                                                        \
  TEMPI_MPIX(MPIX_Isend_enqueue##suffix,                                                                           \
             (const void* buffer, Size count, MPI_Datatype datatype, int destination, int tag, MPI_Comm comm,      \
              MPI_Request* request),                                                                               \
             (buffer, count, datatype, destination, tag, comm, request))                                           \
  TEMPI_MPIX(                                                                                                      \
      MPIX_Irecv_enqueue##suffix,                                                                                  \
      (void* buffer, Size count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request), \
      (buffer, count, datatype, source, tag, comm, request))                                                       \
  TEMPI_MPIX(MPIX_Allreduce_enqueue##suffix,                                                                       \
             (const void* sendbuf, void* recvbuf, Size count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),    \
             (sendbuf, recvbuf, count, datatype, op, comm))
TEMPI_MPIX_SIZED(, int)
TEMPI_MPIX_SIZED(_c, MPI_Count)

/* For requests of MPIX_Isend_enqueue and MPIX_Irecv_enqueue, which no other MPI call takes. */
TEMPI_MPIX(MPIX_Wait_enqueue, (MPI_Request * request, MPI_Status* status), (request, status))
TEMPI_MPIX(MPIX_Waitall_enqueue, (int count, MPI_Request requests[], MPI_Status* statuses), (count, requests, statuses))

#undef TEMPI_MPIX_SIZED
#undef TEMPI_MPIX

#ifdef __cplusplus
}
#endif
#endif
#endif
