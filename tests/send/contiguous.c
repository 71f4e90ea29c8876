/* Contiguous data described by derived datatypes, in GPU memory, to oneself: by every kind of call. Needs the fake
 * device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "face/api.h"

enum { COUNT = 2, BYTES = 16, ROOM = 64, MIDDLE = 24 };
static const tempi_api_table* tempi;
static char* device[2];
static char image[2][ROOM];

static void fill(void) {
  for (int i = 0; i < ROOM; ++i) image[0][i] = (char)(i + 1), image[1][i] = (char)(101 + i);
  for (int k = 0; k < 2; ++k) tempi->fake_copy(device[k], image[k], ROOM);
}

/* The data begins `lower` bytes from the buffer's address. */
static void check(const char* call, int from, int to, MPI_Aint lower) {
  char found[ROOM];
  memcpy(image[to] + MIDDLE + lower, image[from] + MIDDLE + lower, BYTES);
  tempi->fake_copy(found, device[to], ROOM);
  printf("%s %s\n", call, memcmp(found, image[to], ROOM) == 0 ? "right" : "WRONG");
}

static void exchange(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_true_extent(type, &lower, &extent);
  char *out = device[0] + MIDDLE, *in = device[1] + MIDDLE;
  MPI_Request both[2];
  fill();
  MPI_Irecv(in, COUNT, type, 0, 1, MPI_COMM_SELF, &both[0]);
  MPI_Isend(out, COUNT, type, 0, 1, MPI_COMM_SELF, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  check("Isend", 0, 1, lower);
  fill();
  MPI_Irecv(in, COUNT, type, 0, 1, MPI_COMM_SELF, &both[0]);
  MPI_Send(out, COUNT, type, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  check("Send", 0, 1, lower);
  fill();
  MPI_Sendrecv(out, COUNT, type, 0, 1, in, COUNT, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  check("Sendrecv", 0, 1, lower);
  fill();
  MPI_Sendrecv_replace(out, COUNT, type, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  check("Sendrecv_replace", 0, 0, lower);
  MPI_Recv_init(in, COUNT, type, 0, 1, MPI_COMM_SELF, &both[0]);
  MPI_Send_init(out, COUNT, type, 0, 1, MPI_COMM_SELF, &both[1]);
  for (int round = 0; round < 2; ++round) {
    fill();
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    check("Startall", 0, 1, lower);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

static MPI_Datatype resized_dup(void) {
  MPI_Datatype indexed, dup, resized;
  MPI_Type_indexed(1, (int[]){2}, (int[]){-1}, MPI_INT, &indexed);
  MPI_Type_dup(indexed, &dup);
  MPI_Type_create_resized(dup, 0, 8, &resized);
  MPI_Type_free(&indexed);
  MPI_Type_free(&dup);
  return resized;
}

static MPI_Datatype struct_of_resized(void) {
  MPI_Datatype ints, resized, made;
  MPI_Type_contiguous(2, MPI_INT, &ints);
  MPI_Type_create_resized(ints, 0, 8, &resized);
  MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){-8}, &resized, &made);
  MPI_Type_free(&ints);
  MPI_Type_free(&resized);
  return made;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const tempi_api_table* (*table)(void) = (const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api");
  tempi = table();
  for (int k = 0; k < 2; ++k) device[k] = tempi->fake_allocate("device", 0, ROOM);
  MPI_Datatype types[2] = {resized_dup(), struct_of_resized()};
  for (int k = 0; k < 2; ++k) {
    MPI_Type_commit(&types[k]);
    exchange(types[k]);
    MPI_Type_free(&types[k]);
  }
  for (int k = 0; k < 2; ++k) tempi->fake_deallocate(device[k]);
  MPI_Finalize();
  return 0;
}
