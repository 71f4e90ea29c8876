/* Partitions of a message that kernels make ready (MPI-4.1, chapter 4). The names are those of NVIDIA's MPI-ACX.
 *
 *   MPI_Psend_init(buffer, 16, count, type, peer, tag, comm, MPI_INFO_NULL, &request);
 *   MPIX_Prequest ready;
 *   MPIX_Prequest_create(&request, &ready);                 once, for all rounds
 *   for (...) {
 *     MPI_Start(&request);
 *     compute<<<16, threads, 0, stream>>>(buffer, ready);     each block calls MPIX_Pready_device(ready, blockIdx.x)
 *     MPI_Wait(&request, MPI_STATUS_IGNORE);                  sends each partition as soon as it is ready
 *   }
 *   MPIX_Prequest_free(&ready);
 *   MPI_Request_free(&request);
 *
 * MPI calls of the program, as MPI_Wait here, look for partitions that are ready. With TEMPI_PROGRESS=thread or
 * MPI_THREAD_MULTIPLE, a thread of TEMPI also looks. The host functions are looked up in the running process, and return
 * TEMPI_ERR_NOT_LOADED without TEMPI. The header needs neither CUDA's headers nor MPI's. */
#ifndef TEMPI_DEVICE_H
#define TEMPI_DEVICE_H

#include "tempi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plain data, which is passed to kernels by value: a word for each of `n` partitions, in memory that the CPU and all
 * GPUs reach. */
typedef struct {
  volatile uint32_t* words;
  int n;
} MPIX_Prequest;

/* `request`: the address of an MPI_Request of MPI_Psend_init, inactive, whose buffer is in GPU memory. `ready` is for
 * this request until MPIX_Prequest_free. Returns MPI_SUCCESS (0), the code of an MPI error (for another request:
 * MPI_ERR_REQUEST), or TEMPI_ERR_NOT_LOADED. */
static inline int MPIX_Prequest_create(const void* request, MPIX_Prequest* ready) {
  int (*create)(const void*, volatile uint32_t**, int*);
  *(void**)&create = dlsym((void*)0, "TEMPI_Prequest_create");
  return create ? create(request, &ready->words, &ready->n) : TEMPI_ERR_NOT_LOADED;
}

/* After the last kernel that uses `ready`, before or after the request is freed. */
static inline int MPIX_Prequest_free(MPIX_Prequest* ready) {
  int (*free_words)(volatile uint32_t*);
  *(void**)&free_words = dlsym((void*)0, "TEMPI_Prequest_free");
  const int code = free_words ? free_words(ready->words) : TEMPI_ERR_NOT_LOADED;
  ready->words = 0;
  ready->n = 0;
  return code;
}

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
/* As MPI_Pready. One thread calls it, after the threads that write the partition have met: __syncthreads() where they
 * are a block. */
static __device__ __forceinline__ void MPIX_Pready_device(MPIX_Prequest ready, int partition) {
  __threadfence_system();
  ready.words[partition] = 1;
}
#endif
#endif
