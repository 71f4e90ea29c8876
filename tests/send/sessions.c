/* Messages of one rank to itself in a session: MPI_Init is never called. */
#include "strict.h"

enum { IN = 5 };

int main(void) {
  kind = "device";
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request requests[2], persistent;
  MPI_Message message;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 1;
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "tempi.tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  make_types();
  int* out = buffer_of(7);
  int* in[IN];
  for (int i = 0; i < IN; ++i) in[i] = buffer_of(5);
  CHECK(MPI_Irecv(in[0], 1, vector, 0, 0, comm, &requests[0]) == MPI_SUCCESS, "Irecv");
  CHECK(MPI_Isend(out, 1, vector, 0, 0, comm, &requests[1]) == MPI_SUCCESS, "Isend");
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
  MPI_Isend(out, 1, vector, 0, 1, comm, &requests[1]);
  MPI_Recv(in[1], 1, vector, 0, 1, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Isend(out, 1, vector, 0, 2, comm, &requests[1]);
  MPI_Mprobe(0, 2, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in[2], 1, vector, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Send_init(out, 1, vector, 0, 3, comm, &persistent);
  MPI_Start(&persistent);
  MPI_Sendrecv(out, 1, vector, MPI_PROC_NULL, 0, in[3], 1, vector, 0, 3, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  MPI_Request_free(&persistent);
  MPI_Irecv(in[4], 1, vector, 0, 4, comm, &requests[0]);
  MPI_Isend(out, 1, vector, 0, 4, comm, &requests[1]);
  for (int n_done = 0, n = 0; n_done < 2; n_done += n) {
    int indices[2];
    CHECK(MPI_Testsome(2, requests, &n, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && n >= 0, "Testsome");
  }
  for (int i = 0; i < IN; ++i) CHECK(holds(in[i], INTS, 7, 5), "message %d", i);
  MPI_Type_free(&vector);
  MPI_Type_free(&loose);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  puts("ok");
  return 0;
}
