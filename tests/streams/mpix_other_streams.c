/* Streams that are not CUDA's go to the library; a stream of CUDA does not. */
#include "mpix_support.h"

int main(int argc, char** argv) {
  MPI_Info info;
  MPIX_Stream stream;
  MPI_Comm its, without;
  MPI_Request request = MPI_REQUEST_NULL;
  char value = 0;
  begin(&argc, &argv);
  ok(MPI_Info_create(&info));
  ok(MPI_Info_set(info, "type", "hipStream_t"));
  ok(MPIX_Stream_create(info, &stream));
  ok(MPI_Info_free(&info));
  ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &its));
  ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &without));
  ok(MPIX_Send_enqueue(&value, 1, MPI_BYTE, 0, 0, its));
  ok(MPI_Irecv(&value, 1, MPI_BYTE, MPI_PROC_NULL, 0, its, &request));
  ok(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
  ok(MPIX_Stream_free(&stream));
  void* const cuda = api->fake_stream_create(0);
  MPI_Comm ours = make_comm(cuda);
  ok(MPIX_Send_enqueue(&value, 1, MPI_BYTE, MPI_PROC_NULL, 0, ours));
  ok(MPI_Comm_free(&ours));
  ok(MPI_Comm_free(&its));
  ok(MPI_Comm_free(&without));
  printf("right\n");
  return MPI_Finalize();
}
