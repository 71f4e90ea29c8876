/* Streams above a driver (interpose/cuda_driver.cpp) that aborts where a handle of an ended context is used: packs and
 * messages in a stream, in the default streams, in a stream of an ended context, and in one of another GPU. */
#include <cuda.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tempi.h>

enum { kRows = 16, kPitch = 16, kRow = 4, kBytes = kRows * kPitch, kPacked = kRows * kRow };

static MPI_Datatype rows;

static void must(int is_met, const char* what) {
  if (is_met) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static CUcontext use(int gpu) {
  CUcontext context;
  must(cuDevicePrimaryCtxRetain(&context, gpu) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS,
       "no context");
  return context;
}

static CUdeviceptr memory(int byte) {
  char bytes[kBytes];
  CUdeviceptr address;
  memset(bytes, byte, kBytes);
  must(cuMemAlloc(&address, kBytes) == CUDA_SUCCESS, "no memory");
  must(cuMemcpyHtoD(address, bytes, kBytes) == CUDA_SUCCESS, "no copy");
  return address;
}

static CUstream new_stream(void) {
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "no stream");
  return stream;
}

static int pack(CUdeviceptr from, CUdeviceptr to) {
  int position = 0;
  return MPI_Pack((void*)from, 1, rows, (void*)to, kPacked, &position, MPI_COMM_SELF);
}

static int send_to_self(CUdeviceptr from, CUdeviceptr to) {
  return MPI_Sendrecv((void*)from, 1, rows, 0, 0, (void*)to, kPacked, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void check_calls(cudaStream_t stream, int byte) {
  must(TEMPI_Set_stream(stream) == MPI_SUCCESS, "the stream is not set");
  for (int round = 0; round < 4; ++round) {
    const CUdeviceptr from = memory(byte), packed = memory(0), received = memory(0);
    must(pack(from, packed) == MPI_SUCCESS && send_to_self(from, received) == MPI_SUCCESS, "an error");
    char bytes[2][kPacked];
    cuMemcpyDtoH(bytes[0], packed, kPacked);
    cuMemcpyDtoH(bytes[1], received, kPacked);
    for (int i = 0; i < kPacked; ++i) must(bytes[0][i] == byte && bytes[1][i] == byte, "a wrong byte");
  }
}

static void check_refusal(CUdeviceptr from, CUdeviceptr to, const char* why) {
  int (*calls[])(CUdeviceptr, CUdeviceptr) = {pack, send_to_self};
  for (int i = 0; i < 2; ++i) {
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    const int code = calls[i](from, to);
    must(code != MPI_SUCCESS, "no error");
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    must(class == MPI_ERR_OTHER && strstr(text, why) != NULL, text);
  }
}

int main(int argc, char** argv) {
  cuInit(0);
  use(0);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_vector(kRows, kRow, kPitch, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);

  CUstream first = new_stream();
  check_calls(first, 1);
  check_calls(NULL, 2);
  check_calls((cudaStream_t)CU_STREAM_LEGACY, 3);
  check_calls((cudaStream_t)CU_STREAM_PER_THREAD, 4);

  must(TEMPI_Set_stream(first) == MPI_SUCCESS, "the stream is not set");
  use(1);
  check_refusal(memory(5), memory(5), "another GPU than the stream");
  check_calls(new_stream(), 6);

  must(TEMPI_Set_stream(first) == MPI_SUCCESS, "the stream is not set");
  cuDevicePrimaryCtxReset(0); /* the stream goes with it */
  use(0);
  check_refusal(memory(7), memory(7), "has ended its CUDA context");
  check_calls(new_stream(), 8);
  TEMPI_Set_stream(TEMPI_STREAM_NONE);

  MPI_Type_free(&rows);
  MPI_Finalize();
  printf("all is right\n");
  return 0;
}
