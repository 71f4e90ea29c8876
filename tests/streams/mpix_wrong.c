/* Wrong usage of MPICH's stream extensions, and what is known of a communicator. Two ranks. */
#include "mpix_support.h"

static int n_told, has_extensions; /* the library has the functions: other streams and communicators are its own */

static void tell(MPI_Comm* comm, int* code, ...) { n_told += comm != NULL && *code != MPI_SUCCESS; }

static int class_of(int code) {
  int its_class = MPI_SUCCESS;
  MPI_Error_class(code, &its_class);
  return its_class;
}

/* The call has this error, and the handler of the communicator was called once. */
static void fails(int code, int with_class, const char* what) {
  must(class_of(code) == with_class, what);
  must(n_told == 1, "the error handler was not called once");
  n_told = 0;
}

static void streams(void) {
  MPI_Info info;
  MPIX_Stream made = MPIX_STREAM_NULL;
  ok(MPI_Info_create(&info));
  if (!has_extensions) {
    fails(MPIX_Stream_create(info, &made), MPI_ERR_UNSUPPORTED_OPERATION, "a stream without a type");
    fails(MPIX_Stream_create(MPI_INFO_NULL, &made), MPI_ERR_UNSUPPORTED_OPERATION, "a stream of MPI_INFO_NULL");
  }
  ok(MPI_Info_set(info, "type", "cudaStream_t"));
  fails(MPIX_Stream_create(info, &made), MPI_ERR_OTHER, "a stream without a value");
  ok(MPI_Info_set(info, "value", "12"));
  fails(MPIX_Stream_create(info, &made), MPI_ERR_OTHER, "a value of one byte");
  ok(MPI_Info_set(info, "value", "7700[6]"));
  fails(MPIX_Stream_create(info, &made), MPI_ERR_OTHER, "a handle of nothing");
  ok(MPI_Info_set(info, "value", "01[7]")); /* as newer versions of MPICH write it */
  ok(MPIX_Stream_create(info, &made));
  ok(MPIX_Stream_free(&made));
  must(made == MPIX_STREAM_NULL, "the handle remains");
  ok(MPI_Info_free(&info));
}

static void communicators(MPIX_Stream mpix_stream, MPI_Comm comm) {
  MPIX_Stream its = mpix_stream;
  MPI_Comm without;
  char value = 0;
  ok(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &its));
  must(its == MPIX_STREAM_NULL, "MPI_COMM_WORLD has a stream");
  ok(MPIX_Comm_get_stream(comm, 0, &its));
  must(its == mpix_stream, "another stream");
  ok(MPIX_Comm_get_stream(comm, 1, &its));
  must(its == MPIX_STREAM_NULL, "two streams");
  if (!has_extensions) fails(MPIX_Send_enqueue(&value, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD), MPI_ERR_OTHER, "no stream");
  /* No rank has a stream: it is a duplicate. */
  ok(MPIX_Stream_comm_create(comm, MPIX_STREAM_NULL, &without));
  if (!has_extensions) fails(MPIX_Send_enqueue(&value, 1, MPI_BYTE, 0, 0, without), MPI_ERR_OTHER, "no stream");
  ok(MPI_Comm_free(&without));
  ok(MPIX_Stream_comm_create(comm, rank == 0 ? mpix_stream : MPIX_STREAM_NULL, &without));
  if (rank == 1) fails(MPIX_Send_enqueue(&value, 1, MPI_BYTE, 0, 0, without), MPI_ERR_OTHER, "no stream of rank 1");
  ok(MPI_Comm_free(&without));
}

static void arguments(MPI_Comm comm, char* buffer) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type;
  MPI_Status status;
  int count = -1;
  fails(MPIX_Send_enqueue(buffer, -1, MPI_BYTE, 0, 0, comm), MPI_ERR_COUNT, "count");
  fails(MPIX_Send_enqueue(buffer, 1, MPI_BYTE, size, 0, comm), MPI_ERR_RANK, "rank");
  fails(MPIX_Isend_enqueue(buffer, 1, MPI_BYTE, 0, -5, comm, &request), MPI_ERR_TAG, "tag");
  ok(MPI_Type_contiguous(2, MPI_INT, &type));
  fails(MPIX_Send_enqueue(buffer, 1, type, 0, 0, comm), MPI_ERR_TYPE, "a datatype that is not committed");
  ok(MPI_Type_free(&type));
  ok(MPIX_Send_enqueue(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  ok(MPIX_Recv_enqueue(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status));
  ok(MPI_Get_count(&status, MPI_INT, &count));
  must(status.MPI_SOURCE == MPI_PROC_NULL && count == 0, "wrong status of MPI_PROC_NULL");
  ok(MPIX_Irecv_enqueue(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request));
  ok(MPIX_Wait_enqueue(&request, &status));
  must(status.MPI_SOURCE == MPI_PROC_NULL && request == MPI_REQUEST_NULL, "wrong request of MPI_PROC_NULL");
  ok(MPIX_Wait_enqueue(&request, &status));
  must(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "wrong status of MPI_REQUEST_NULL");
  ok(MPIX_Waitall_enqueue(0, NULL, MPI_STATUSES_IGNORE));
  if (!has_extensions) fails(MPIX_Waitall_enqueue(-1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "negative count");
}

static void requests(MPI_Comm comm, char* buffer) {
  MPI_Request requests[2];
  ok(MPI_Irecv(buffer, 0, MPI_BYTE, rank, 0, comm, &requests[0]));
  if (!has_extensions)
    fails(MPIX_Wait_enqueue(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "a request of MPI_Irecv");
  ok(MPIX_Irecv_enqueue(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[1]));
  fails(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "requests of two kinds");
  ok(MPIX_Wait_enqueue(&requests[1], MPI_STATUS_IGNORE));
  ok(MPI_Cancel(&requests[0]));
  ok(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

/* The communicator is freed before the waits. */
static void pending(MPI_Comm comm, char* buffer, void* stream) {
  MPI_Request requests[2];
  MPIX_Stream mpix_stream = make_mpix_stream(stream);
  MPI_Comm own;
  ok(MPIX_Stream_comm_create(comm, mpix_stream, &own));
  ok(MPIX_Stream_free(&mpix_stream));
  ok(MPIX_Irecv_enqueue(buffer, 8, MPI_BYTE, 1 - rank, 1, own, &requests[0]));
  ok(MPIX_Isend_enqueue(buffer + 8, 8, MPI_BYTE, 1 - rank, 2, own, &requests[1]));
  ok(MPI_Comm_free(&own));
  for (int i = 0; i < 2; ++i) {
    fails(MPIX_Wait_enqueue(&requests[i], MPI_STATUS_IGNORE), MPI_ERR_OTHER, "a freed communicator");
    must(requests[i] == MPI_REQUEST_NULL, "the request remains");
  }
}

/* The receiver gets the error, and the sender goes on. */
static void too_long(MPI_Comm comm, char* buffer, void* stream) {
  MPI_Status status;
  for (int i = 0; i < 2; ++i) {
    fill(buffer, rank == 0 ? 3 : 0xEE, 64, stream);
    if (rank == 0) ok(MPIX_Send_enqueue(buffer, 64, MPI_BYTE, 1, 0, comm));
    else fails(MPIX_Recv_enqueue(buffer, 32, MPI_BYTE, 0, 0, comm, &status), MPI_ERR_TRUNCATE, "too long");
    MPI_Request request; /* an array of one: the error is in its status */
    if (rank == 0) ok(MPIX_Send_enqueue(buffer, 64, MPI_BYTE, 1, 0, comm));
    if (rank == 1) {
      ok(MPIX_Irecv_enqueue(buffer, 32, MPI_BYTE, 0, 0, comm, &request));
      fails(MPIX_Waitall_enqueue(1, &request, &status), MPI_ERR_IN_STATUS, "too long");
      must(class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE, "no error in the status");
    }
    if (rank == 0) ok(MPIX_Send_enqueue(buffer, 64, MPI_BYTE, 1, 0, comm));
    else ok(MPIX_Recv_enqueue(buffer, 64, MPI_BYTE, 0, 0, comm, &status));
    synchronize(stream);
  }
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Comm comm;
  begin(&argc, &argv);
  has_extensions = dlsym(NULL, "PMPIX_Stream_create") != NULL;
  ok(MPI_Comm_create_errhandler(tell, &handler));
  ok(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  void* const stream = api->fake_stream_create(0);
  char* const buffer = device_memory(64);
  MPIX_Stream mpix_stream = make_mpix_stream(stream);
  ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix_stream, &comm));
  streams();
  communicators(mpix_stream, comm);
  arguments(comm, buffer);
  requests(comm, buffer);
  pending(comm, buffer, stream);
  too_long(comm, buffer, stream);
  must(n_told == 0, "the handler was called without an error");
  ok(MPIX_Stream_free(&mpix_stream));
  ok(MPI_Comm_free(&comm));
  ok(MPI_Errhandler_free(&handler));
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
