/* A 3-D halo exchange with derived datatypes. Plain MPI: the program knows nothing of TEMPI.
 *
 *   mpicc -O2 -o halo examples/halo.c
 *   tempi run -- mpirun -n 4 ./halo
 *
 * In GPU memory, with the CUDA toolkit in /usr/local/cuda:
 *
 *   mpicc -O2 -DWITH_CUDA -I/usr/local/cuda/include -o halo examples/halo.c -L/usr/local/cuda/lib64 -lcudart
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_CUDA
#include <cuda_runtime.h>
#endif

enum { kCells = 64, kEdge = kCells + 2, kTotal = kEdge * kEdge * kEdge, kRounds = 20 };

/* ---- memory of the GPU, or of the host ---- */

#ifdef WITH_CUDA
static void* allocate(size_t bytes) {
  void* memory = NULL;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}
static void copy(void* to, const void* from, size_t bytes) { cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
static void release(void* memory) { cudaFree(memory); }

static void choose_gpu(MPI_Comm comm) { /* one GPU for each rank of the node, in turn */
  MPI_Comm node;
  int rank, n_gpus;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  if (cudaGetDeviceCount(&n_gpus) != cudaSuccess || n_gpus == 0) MPI_Abort(comm, 1);
  cudaSetDevice(rank % n_gpus);
  MPI_Comm_free(&node);
}
#else
static void* allocate(size_t bytes) { return malloc(bytes); }
static void copy(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
static void release(void* memory) { free(memory); }
static void choose_gpu(MPI_Comm comm) { (void)comm; }
#endif

/* ---- the exchange: one layer of cells to each of the six neighbours ---- */

/* The layer of inner cells whose index in this dimension is `index`. */
static MPI_Datatype layer(int dimension, int index) {
  int sizes[3] = {kEdge, kEdge, kEdge}, subsizes[3] = {kCells, kCells, kCells}, starts[3] = {1, 1, 1};
  MPI_Datatype type;
  subsizes[dimension] = 1;
  starts[dimension] = index;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

typedef struct {
  MPI_Comm comm;
  int dims[3], coords[3];
  int neighbour[6]; /* low and high of each dimension */
  MPI_Datatype own[6], ghost[6];
} Grid;

static void make_grid(Grid* grid) {
  int size, rank, periods[3] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  memset(grid->dims, 0, sizeof grid->dims);
  MPI_Dims_create(size, 3, grid->dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, grid->dims, periods, 0, &grid->comm);
  MPI_Comm_rank(grid->comm, &rank);
  MPI_Cart_coords(grid->comm, rank, 3, grid->coords);
  for (int d = 0; d < 3; ++d) {
    MPI_Cart_shift(grid->comm, d, 1, &grid->neighbour[2 * d], &grid->neighbour[2 * d + 1]);
    grid->own[2 * d] = layer(d, 1);
    grid->own[2 * d + 1] = layer(d, kCells);
    grid->ghost[2 * d] = layer(d, 0);
    grid->ghost[2 * d + 1] = layer(d, kCells + 1);
  }
}

static void free_grid(Grid* grid) {
  for (int i = 0; i < 6; ++i) {
    MPI_Type_free(&grid->own[i]);
    MPI_Type_free(&grid->ghost[i]);
  }
  MPI_Comm_free(&grid->comm);
}

/* The tag is the side that the message leaves by: it arrives at the opposite side of the neighbour. */
static void exchange(double* cells, const Grid* grid) {
  MPI_Request requests[12];
  for (int i = 0; i < 6; ++i) MPI_Irecv(cells, 1, grid->ghost[i], grid->neighbour[i], i ^ 1, grid->comm, &requests[i]);
  for (int i = 0; i < 6; ++i) MPI_Isend(cells, 1, grid->own[i], grid->neighbour[i], i, grid->comm, &requests[6 + i]);
  MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
}

/* ---- the check: each cell holds its number in the global grid ---- */

static double number(const Grid* grid, int x, int y, int z) {
  int index[3] = {x, y, z};
  double found = 0;
  for (int d = 0; d < 3; ++d) {
    int n = kCells * grid->dims[d]; /* a periodic grid: a ghost cell is a cell of the other end */
    found = found * n + (grid->coords[d] * kCells + index[d] - 1 + n) % n;
  }
  return found;
}

/* 0: an own cell, 1: a ghost cell beside a face, 2 and 3: at an edge or a corner, which is not exchanged. */
static int n_outside(int x, int y, int z) {
  return (x == 0 || x > kCells) + (y == 0 || y > kCells) + (z == 0 || z > kCells);
}

static void fill(double* host, const Grid* grid) {
  for (int x = 0, i = 0; x < kEdge; ++x)
    for (int y = 0; y < kEdge; ++y)
      for (int z = 0; z < kEdge; ++z, ++i) host[i] = n_outside(x, y, z) == 0 ? number(grid, x, y, z) : -1;
}

static int count_wrong(const double* host, const Grid* grid) {
  int wrong = 0;
  for (int x = 0, i = 0; x < kEdge; ++x)
    for (int y = 0; y < kEdge; ++y)
      for (int z = 0; z < kEdge; ++z, ++i) wrong += host[i] != (n_outside(x, y, z) <= 1 ? number(grid, x, y, z) : -1);
  return wrong;
}

int main(int argc, char** argv) {
  const size_t bytes = kTotal * sizeof(double);
  int rank, size, wrong;
  Grid grid;
  MPI_Init(&argc, &argv);
  choose_gpu(MPI_COMM_WORLD);
  make_grid(&grid);
  double *host = malloc(bytes), *cells = allocate(bytes);
  fill(host, &grid);
  copy(cells, host, bytes);

  exchange(cells, &grid);
  MPI_Barrier(grid.comm);
  double begin = MPI_Wtime();
  for (int i = 0; i < kRounds; ++i) exchange(cells, &grid);
  double microseconds = (MPI_Wtime() - begin) / kRounds * 1e6;

  copy(host, cells, bytes);
  wrong = count_wrong(host, &grid);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, grid.comm);
  MPI_Comm_rank(grid.comm, &rank);
  MPI_Comm_size(grid.comm, &size);
  if (rank == 0) printf("%d ranks, %.0f us an exchange, %d wrong cells\n", size, microseconds, wrong);
  release(cells);
  free(host);
  free_grid(&grid);
  MPI_Finalize();
  return wrong != 0;
}
