/* While MPI_Startall starts receives of fake device memory, the first one fails, and the program frees it and a later
 * one, and makes another. Prints "ok" when the call says that it has failed, and the new receive is as good as any.
 * Argument: "told" if MPI_Start reports its failure. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "face/api.h"

enum { RECEIVES = 3, ROUNDS = 50, INTS = 64 };

static MPI_Datatype type;
static MPI_Request requests[RECEIVES], made;
static int *received, is_told, n_calls;

static int fail_once(int* code) {
  MPI_Request first = requests[0], last = requests[RECEIVES - 1];
  if (n_calls++ > 0) return 0;
  MPI_Request_free(&first);
  MPI_Request_free(&last);
  MPI_Recv_init(received, 1, type, 0, 0, MPI_COMM_SELF, &made);
  *code = is_told ? MPI_ERR_OTHER : MPI_SUCCESS;
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const tempi_api_table* tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  int (**fails)(int*) = dlsym(RTLD_DEFAULT, "fails");
  MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  int image[2 * INTS] = {0}, wrong = 0;
  int* const sent = tempi->fake_allocate("device", 0, sizeof image);
  received = tempi->fake_allocate("device", 0, sizeof image);
  is_told = strcmp(argv[1], "told") == 0;
  for (int round = 1; round <= ROUNDS; ++round) {
    for (int i = 0; i < RECEIVES; ++i) MPI_Recv_init(received, 1, type, 0, 1 + i, MPI_COMM_SELF, &requests[i]);
    n_calls = 0;
    *fails = fail_once;
    wrong |= MPI_Startall(RECEIVES, requests) == MPI_SUCCESS;
    *fails = NULL;
    image[0] = round;
    tempi->fake_copy(sent, image, sizeof image);
    wrong |= MPI_Start(&made) != MPI_SUCCESS;
    MPI_Send(sent, 1, type, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
    MPI_Request_free(&made);
    if (!is_told) { /* the one between was started */
      MPI_Send(sent, 1, type, 0, 2, MPI_COMM_SELF);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[1]);
    image[0] = 0;
    tempi->fake_copy(image, received, sizeof image);
    wrong |= image[0] != round;
  }
  MPI_Type_free(&type);
  MPI_Finalize();
  puts(wrong ? "wrong" : "ok");
  return 0;
}
