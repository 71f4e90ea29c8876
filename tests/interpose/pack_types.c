/* An MPI program that knows nothing of TEMPI: packs, sends and unpacks some datatypes and prints the bytes' sums.
 * Run on one rank it sends to itself. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 20, TYPES = 6 };

static uint64_t sum(const unsigned char* bytes, long n) {
  uint64_t hash = 1469598103934665603u;
  for (long i = 0; i < n; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

static MPI_Datatype make(int which) {
  MPI_Datatype type = MPI_DATATYPE_NULL, inner;
  switch (which) {
    case 0: MPI_Type_vector(512, 4, 16, MPI_FLOAT, &type); break;
    case 1: {
      int sizes[] = {32, 24, 40}, subsizes[] = {16, 1, 20}, starts[] = {3, 7, 5};
      MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
      break;
    }
    case 2: {
      int lengths[] = {3, 1, 4, 1, 5}, places[] = {900, 500, 300, 200, 0};
      MPI_Type_indexed(5, lengths, places, MPI_INT, &type);
      break;
    }
    case 3: {
      int lengths[] = {1, 2};
      MPI_Aint places[] = {0, 4096};
      MPI_Datatype members[] = {MPI_DOUBLE_INT, MPI_SHORT};
      MPI_Type_create_struct(2, lengths, places, members, &type);
      break;
    }
    case 4:
      MPI_Type_vector(64, 1, 128, MPI_DOUBLE, &inner);
      MPI_Type_create_resized(inner, 0, sizeof(double), &type);
      MPI_Type_free(&inner);
      break;
    default: MPI_Type_contiguous(1000, MPI_INT, &type);
  }
  MPI_Type_commit(&type);
  return type;
}

static void exchange(int which, int rank, int ranks, unsigned char* source, unsigned char* target) {
  MPI_Datatype type = make(which);
  int count = which == 4 ? 8 : 2, packed_bytes = 0, position = 0;
  MPI_Pack_size(count, type, MPI_COMM_WORLD, &packed_bytes);
  char *packed = malloc(packed_bytes), *received = malloc(packed_bytes);
  memset(target, 0x5a, BUFFER_BYTES);
  MPI_Pack(source, count, type, packed, packed_bytes, &position, MPI_COMM_WORLD);
  MPI_Sendrecv(packed, position, MPI_PACKED, (rank + 1) % ranks, 0, received, packed_bytes, MPI_PACKED,
               (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  uint64_t wire = sum((unsigned char*)received, position);
  int size = position;
  position = 0;
  MPI_Unpack(received, size, &position, target, count, type, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d %d %016llx %016llx\n", which, position, (unsigned long long)wire,
           (unsigned long long)sum(target, BUFFER_BYTES));
  }
  free(packed);
  free(received);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char *source = malloc(BUFFER_BYTES), *target = malloc(BUFFER_BYTES);
  for (int i = 0; i < BUFFER_BYTES; ++i) source[i] = (unsigned char)(i * 2654435761u >> 13) ^ (unsigned char)rank;
  for (int which = 0; which < TYPES; ++which) exchange(which, rank, ranks, source, target);
  free(source);
  free(target);
  MPI_Finalize();
  return 0;
}
