/* TEMPI's functions for C and C++ programs: the CUDA stream in which MPI calls of a thread are ordered.
 *
 *   TEMPI_Set_stream(stream);
 *   fill<<<grid, block, 0, stream>>>(buffer);
 *   MPI_Send(buffer, 1, faces, peer, 0, MPI_COMM_WORLD);     sends what the kernel writes: no cudaStreamSynchronize
 *   MPI_Recv(ghosts, 1, faces, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
 *   compute<<<grid, block, 0, stream>>>(ghosts);             reads what has been received
 *
 * docs/streams.md explains the rules. The header needs neither CUDA's headers nor MPI's. The functions are looked up in
 * the running process: a program that uses them also runs without TEMPI, where they return TEMPI_ERR_NOT_LOADED and the
 * program synchronises its streams itself.
 */
#ifndef TEMPI_H
#define TEMPI_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st* cudaStream_t; /* as in CUDA's headers */

/* No stream: the program synchronises before it calls MPI. (Null is CUDA's legacy default stream.) */
#define TEMPI_STREAM_NONE ((cudaStream_t)(intptr_t)-1)

/* Not a code of MPI: libtempi.so is not loaded, or TEMPI is off. */
#define TEMPI_ERR_NOT_LOADED (-1)

/* Orders all MPI calls of the calling thread on GPU memory in `stream`, until the next TEMPI_Set_stream of the thread.
 * Destroy a stream only after another one, or none, has been set. Returns MPI_SUCCESS (0), an MPI error code if
 * `stream` is not a stream of CUDA, or TEMPI_ERR_NOT_LOADED. */
static inline int TEMPI_Set_stream(cudaStream_t stream) {
  int (*set_stream)(cudaStream_t);
  *(void**)&set_stream = dlsym((void*)0, "TEMPI_Set_stream");
  return set_stream ? set_stream(stream) : TEMPI_ERR_NOT_LOADED;
}

/* The stream of the calling thread; TEMPI_STREAM_NONE if there is none. */
static inline int TEMPI_Get_stream(cudaStream_t* stream) {
  int (*get_stream)(cudaStream_t*);
  *(void**)&get_stream = dlsym((void*)0, "TEMPI_Get_stream");
  *stream = TEMPI_STREAM_NONE;
  return get_stream ? get_stream(stream) : TEMPI_ERR_NOT_LOADED;
}

/* ---- Persistent requests on a stream (docs/streams.md, Enqueued exchanges).
 *
 *   MPI_Send_init(...); MPI_Recv_init(...);
 *   for (...) {
 *     compute<<<grid, block, 0, stream>>>(array);
 *     TEMPI_Startall_enqueue(n, requests, stream);
 *     TEMPI_Waitall_enqueue(n, requests, stream);     queued: the CPU does not wait
 *   }
 *
 * `requests`: an array of `count` MPI_Request, persistent and inactive. The exchange begins when the stream reaches
 * TEMPI_Waitall_enqueue. Later work of the stream begins when the exchange has ended. A wait
 * carries out all requests that were started on its stream. The functions return MPI_SUCCESS (0),
 * an MPI error code, or TEMPI_ERR_NOT_LOADED: then synchronise the stream, and call MPI_Startall
 * and MPI_Waitall. */
static inline int TEMPI_Startall_enqueue(int count, void* requests, cudaStream_t stream) {
  static int (*startall)(int, void*, cudaStream_t);
  if (!startall) *(void**)&startall = dlsym((void*)0, "TEMPI_Startall_enqueue");
  return startall ? startall(count, requests, stream) : TEMPI_ERR_NOT_LOADED;
}

static inline int TEMPI_Waitall_enqueue(int count, void* requests, cudaStream_t stream) {
  static int (*waitall)(int, void*, cudaStream_t);
  if (!waitall) *(void**)&waitall = dlsym((void*)0, "TEMPI_Waitall_enqueue");
  return waitall ? waitall(count, requests, stream) : TEMPI_ERR_NOT_LOADED;
}

static inline int TEMPI_Start_enqueue(void* request, cudaStream_t stream) {
  return TEMPI_Startall_enqueue(1, request, stream);
}

static inline int TEMPI_Wait_enqueue(void* request, cudaStream_t stream) {
  return TEMPI_Waitall_enqueue(1, request, stream);
}

#ifdef __cplusplus
}
#endif
#endif
