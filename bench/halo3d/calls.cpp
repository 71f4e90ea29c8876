// The MPI calls of halo exchanges, as a C program makes them one after the other, and times them: in seconds.
#include <chrono>
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
}

namespace {

// The ranks meet before each exchange.
template <class Fn>
void each_timed(const Messages* all, int n_times, double* seconds, const Fn& exchange) {
  for (int k = 0; k < n_times; ++k) {
    MPI_Barrier(all->comm);
    const auto begin = std::chrono::steady_clock::now();
    exchange();
    seconds[k] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
}

}  // namespace

extern "C" {

void exchange(const Messages* all, int n_times, double* seconds) {
  each_timed(all, n_times, seconds, [all] {
    for (int i = 0; i < all->n; ++i) {
      MPI_Irecv(all->data, 1, all->received[i], all->sources[i], all->tags[i], all->comm, all->requests + i);
    }
    for (int i = 0; i < all->n; ++i) {
      MPI_Isend(all->data, 1, all->sent[i], all->destinations[i], all->tags[i], all->comm, all->requests + all->n + i);
    }
    MPI_Waitall(2 * all->n, all->requests, MPI_STATUSES_IGNORE);
  });
}

void prepare(const Messages* all) {
  for (int i = 0; i < all->n; ++i) {
    MPI_Recv_init(all->data, 1, all->received[i], all->sources[i], all->tags[i], all->comm, all->requests + i);
    MPI_Send_init(all->data, 1, all->sent[i], all->destinations[i], all->tags[i], all->comm,
                  all->requests + all->n + i);
  }
}

void exchange_prepared(const Messages* all, int n_times, double* seconds) {
  each_timed(all, n_times, seconds, [all] {
    MPI_Startall(2 * all->n, all->requests);
    MPI_Waitall(2 * all->n, all->requests, MPI_STATUSES_IGNORE);
  });
}

void free_prepared(const Messages* all) {
  for (int i = 0; i < 2 * all->n; ++i) MPI_Request_free(all->requests + i);
}

}  // extern "C"
