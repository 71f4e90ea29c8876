// The MPI calls of one halo exchange, as a C program makes them: the time of a way without that of its Python calls.
#include <mpi.h>

extern "C" {

struct Messages {
  int n;
  void* data;
  const MPI_Datatype *sent, *received;
  const int *destinations, *sources, *tags;
  MPI_Comm comm;
  MPI_Request* requests;  // 2 n, receives first
};

int exchange(const Messages* all) {
  for (int i = 0; i < all->n; ++i) {
    MPI_Irecv(all->data, 1, all->received[i], all->sources[i], all->tags[i], all->comm, all->requests + i);
  }
  for (int i = 0; i < all->n; ++i) {
    MPI_Isend(all->data, 1, all->sent[i], all->destinations[i], all->tags[i], all->comm, all->requests + all->n + i);
  }
  return MPI_Waitall(2 * all->n, all->requests, MPI_STATUSES_IGNORE);
}

void prepare(const Messages* all) {
  for (int i = 0; i < all->n; ++i) {
    MPI_Recv_init(all->data, 1, all->received[i], all->sources[i], all->tags[i], all->comm, all->requests + i);
    MPI_Send_init(all->data, 1, all->sent[i], all->destinations[i], all->tags[i], all->comm,
                  all->requests + all->n + i);
  }
}

int exchange_prepared(const Messages* all) {
  MPI_Startall(2 * all->n, all->requests);
  return MPI_Waitall(2 * all->n, all->requests, MPI_STATUSES_IGNORE);
}

void free_prepared(const Messages* all) {
  for (int i = 0; i < 2 * all->n; ++i) MPI_Request_free(all->requests + i);
}

}  // extern "C"
