// Exchanges of ghost cells on a stream, in C++: enqueued persistent requests, the same as a CUDA graph, blocking ones,
// and NCCL written by hand. Each rank has a cube of edge^3 points; the grid of ranks is periodic.
//
//   jacobi   steps of a 7-point Jacobi iteration, with an exchange of six faces before each
//   halo     exchanges with 26 neighbours and nothing else
//
// driver jacobi|halo EDGE RADIUS COMPONENTS STEPS SAMPLES. Rank 0 prints a line of CSV for each way: microseconds of a
// step (median over the samples, of the slowest rank), microseconds that the CPU takes to queue it, and the number of
// wrong values.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <mpi.h>
#include <string>
#include <vector>
#ifdef WITH_NCCL
#include <nccl.h>
#endif

#include "../../include/tempi.h"

#define CUDA(call)                                                                       \
  do {                                                                                   \
    if (const cudaError_t code = (call); code != cudaSuccess) {                          \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                      \
    }                                                                                    \
  } while (0)

namespace {

struct Grid {
  MPI_Comm comm;
  int rank, size, dims[3], at[3];
  int neighbour(const int d[3]) const {
    int to[3], found;
    for (int i = 0; i < 3; ++i) to[i] = at[i] + d[i];
    MPI_Cart_rank(comm, to, &found);
    return found;
  }
};

struct Box {
  int n, radius, components;
  int full() const { return n + 2 * radius; }
  std::size_t values() const { return std::size_t(full()) * full() * full() * components; }
};

// The points that a rank sends in one direction, and those that it receives from the other side.
struct Direction {
  int d[3];
  int to, from;
  int sent[3], received[3], length[3];  // points, slowest axis first
  std::size_t values(const Box& box) const { return std::size_t(length[0]) * length[1] * length[2] * box.components; }
};

std::vector<Direction> directions(const Grid& grid, const Box& box, bool only_faces) {
  std::vector<Direction> all;
  for (int code = 0; code < 27; ++code) {
    Direction one{{code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1}, 0, 0, {}, {}, {}};
    const int n_axes = std::abs(one.d[0]) + std::abs(one.d[1]) + std::abs(one.d[2]);
    if (n_axes == 0 || (only_faces && n_axes > 1)) continue;
    const int back[3] = {-one.d[0], -one.d[1], -one.d[2]};
    one.to = grid.neighbour(one.d);
    one.from = grid.neighbour(back);
    for (int i = 0; i < 3; ++i) {
      one.length[i] = one.d[i] == 0 ? box.n : box.radius;
      one.sent[i] = one.d[i] > 0 ? box.n : box.radius;
      one.received[i] = one.d[i] > 0 ? 0 : one.d[i] < 0 ? box.n + box.radius : box.radius;
    }
    all.push_back(one);
  }
  return all;
}

MPI_Datatype region(const Box& box, const int first[3], const int length[3]) {
  const int sizes[4] = {box.full(), box.full(), box.full(), box.components};
  const int sub[4] = {length[0], length[1], length[2], box.components};
  const int start[4] = {first[0], first[1], first[2], 0};
  MPI_Datatype made;
  MPI_Type_create_subarray(4, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &made);
  MPI_Type_commit(&made);
  return made;
}

std::vector<MPI_Request> requests_of(const Grid& grid, const Box& box, const std::vector<Direction>& all,
                                     double* data) {
  std::vector<MPI_Request> made;
  for (std::size_t i = 0; i < all.size(); ++i) {
    MPI_Datatype out = region(box, all[i].sent, all[i].length), in = region(box, all[i].received, all[i].length);
    made.emplace_back();
    MPI_Recv_init(data, 1, in, all[i].from, int(i), grid.comm, &made.back());
    made.emplace_back();
    MPI_Send_init(data, 1, out, all[i].to, int(i), grid.comm, &made.back());
    MPI_Type_free(&out);
    MPI_Type_free(&in);
  }
  return made;
}

__global__ void step(const double* from, double* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= n || y >= n) return;
  const int row = n + 2;
  const long at = (long(z + 1) * row + y + 1) * row + x + 1, plane = long(row) * row;
  to[at] = (from[at - 1] + from[at + 1] + from[at - row] + from[at + row] + from[at - plane] + from[at + plane]) / 6;
}

// The value of a point of the whole grid.
double value_at(const Grid& grid, const Box& box, const long point[3], int component) {
  long at = 0;
  for (int i = 0; i < 3; ++i) {
    const long all = long(grid.dims[i]) * box.n;
    at = at * all + (point[i] % all + all) % all;
  }
  return double(at * box.components + component);
}

template <class Use>
void each_value(const Grid& grid, const Box& box, const Use& use) {
  std::size_t i = 0;
  for (int z = 0; z < box.full(); ++z)
    for (int y = 0; y < box.full(); ++y)
      for (int x = 0; x < box.full(); ++x)
        for (int c = 0; c < box.components; ++c, ++i) {
          const int p[3] = {z, y, x};
          long point[3];
          int n_outside = 0;
          for (int d = 0; d < 3; ++d) {
            point[d] = long(grid.at[d]) * box.n + p[d] - box.radius;
            n_outside += p[d] < box.radius || p[d] >= box.n + box.radius;
          }
          use(i, n_outside != 0, n_outside, value_at(grid, box, point, c));
        }
}

struct Arrays {
  Box box;
  double* data[2];
};

void fill(const Grid& grid, Arrays& arrays) {
  std::vector<double> host(arrays.box.values());
  each_value(grid, arrays.box,
             [&](std::size_t i, bool is_ghost, int, double value) { host[i] = is_ghost ? -1 : value; });
  CUDA(cudaMemcpy(arrays.data[0], host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));
  CUDA(cudaMemset(arrays.data[1], 0xFF, host.size() * sizeof(double)));
}

long n_wrong(const Grid& grid, const Arrays& arrays, bool only_faces) {
  std::vector<double> host(arrays.box.values());
  CUDA(cudaMemcpy(host.data(), arrays.data[0], host.size() * sizeof(double), cudaMemcpyDeviceToHost));
  long wrong = 0;
  each_value(grid, arrays.box, [&](std::size_t i, bool, int n_outside, double value) {
    if (only_faces && n_outside > 1) return;
    wrong += host[i] != value;
  });
  long all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, grid.comm);
  return all;
}

// One way of the exchange of array 0 or 1.
using Exchange = std::function<void(int, cudaStream_t)>;
struct Way {
  std::string name;
  Exchange exchange;
  bool is_graph;
};

#ifdef WITH_NCCL
__global__ void move_faces(double* array, double* const* packed, const long* first, const int* length, int row,
                           int components, bool packs) {
  const int d = blockIdx.y;
  const long n = long(length[3 * d]) * length[3 * d + 1] * length[3 * d + 2] * components;
  for (long i = blockIdx.x * long(blockDim.x) + threadIdx.x; i < n; i += long(gridDim.x) * blockDim.x) {
    long rest = i;
    const int c = int(rest % components);
    rest /= components;
    const int x = int(rest % length[3 * d + 2]);
    rest /= length[3 * d + 2];
    const int y = int(rest % length[3 * d + 1]), z = int(rest / length[3 * d + 1]);
    double* const there = array + (first[d] + (long(z) * row + y) * row + x) * components + c;
    if (packs) packed[d][i] = *there;
    else *there = packed[d][i];
  }
}

template <class T>
T* on_gpu(const std::vector<T>& values) {
  T* made;
  CUDA(cudaMalloc(&made, values.size() * sizeof(T)));
  CUDA(cudaMemcpy(made, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return made;
}

Exchange by_nccl(const Grid& grid, const Arrays& arrays, const std::vector<Direction>& all) {
  ncclUniqueId id;
  if (grid.rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, grid.comm);
  ncclComm_t comm;
  ncclCommInitRank(&comm, grid.size, id, grid.rank);
  const Box box = arrays.box;
  std::vector<double*> out, in;
  std::vector<long> first_out, first_in;
  std::vector<int> lengths;
  for (const Direction& one : all) {
    double *a, *b;
    CUDA(cudaMalloc(&a, one.values(box) * sizeof(double)));
    CUDA(cudaMalloc(&b, one.values(box) * sizeof(double)));
    out.push_back(a);
    in.push_back(b);
    first_out.push_back((long(one.sent[0]) * box.full() + one.sent[1]) * box.full() + one.sent[2]);
    first_in.push_back((long(one.received[0]) * box.full() + one.received[1]) * box.full() + one.received[2]);
    lengths.insert(lengths.end(), one.length, one.length + 3);
  }
  double **const out_there = on_gpu(out), **const in_there = on_gpu(in);
  long *const first_out_there = on_gpu(first_out), *const first_in_there = on_gpu(first_in);
  int* const lengths_there = on_gpu(lengths);
  return [=](int which, cudaStream_t stream) {
    const dim3 blocks(32, unsigned(all.size()));
    move_faces<<<blocks, 256, 0, stream>>>(arrays.data[which], out_there, first_out_there, lengths_there, box.full(),
                                           box.components, true);
    ncclGroupStart();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ncclSend(out[i], all[i].values(box), ncclDouble, all[i].to, comm, stream);
      ncclRecv(in[i], all[i].values(box), ncclDouble, all[i].from, comm, stream);
    }
    ncclGroupEnd();
    move_faces<<<blocks, 256, 0, stream>>>(arrays.data[which], in_there, first_in_there, lengths_there, box.full(),
                                           box.components, false);
  };
}
#endif

struct Program {
  bool is_jacobi;
  int n_steps;
  cudaStream_t stream;

  void queue(const Way& way, Arrays& arrays) const {
    const int n = arrays.box.n;
    const dim3 block(64, 4), blocks((n + 63) / 64, (n + 3) / 4, n);
    for (int k = 0; k < n_steps; ++k) {
      const int which = is_jacobi ? k % 2 : 0;
      way.exchange(which, stream);
      if (is_jacobi) step<<<blocks, block, 0, stream>>>(arrays.data[which], arrays.data[1 - which], n);
    }
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const Grid& grid, Arrays& arrays, const Program& program, const Way& way, int n_samples, bool only_faces) {
  fill(grid, arrays);
  MPI_Barrier(grid.comm);
  way.exchange(0, program.stream);
  if (program.is_jacobi) way.exchange(1, program.stream);  // a graph needs channels
  CUDA(cudaStreamSynchronize(program.stream));
  long wrong = way.name == "compute" ? 0 : n_wrong(grid, arrays, only_faces);
  cudaGraphExec_t graph = nullptr;
  if (way.is_graph) {
    cudaGraph_t captured;
    CUDA(cudaStreamBeginCapture(program.stream, cudaStreamCaptureModeThreadLocal));
    program.queue(way, arrays);
    CUDA(cudaStreamEndCapture(program.stream, &captured));
    CUDA(cudaGraphInstantiate(&graph, captured, 0));
    CUDA(cudaGraphDestroy(captured));
  }
  std::vector<double> taken, queued;
  for (int sample = 0; sample < n_samples + 1; ++sample) {
    MPI_Barrier(grid.comm);
    const double start = MPI_Wtime();
    if (graph != nullptr) CUDA(cudaGraphLaunch(graph, program.stream));
    else program.queue(way, arrays);
    double times[2] = {0, MPI_Wtime() - start}, slowest[2];
    CUDA(cudaStreamSynchronize(program.stream));
    times[0] = MPI_Wtime() - start;
    MPI_Allreduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, grid.comm);
    if (sample == 0) continue;
    taken.push_back(slowest[0] / program.n_steps);
    queued.push_back(slowest[1] / program.n_steps);
  }
  if (way.name != "compute") {
    fill(grid, arrays);
    MPI_Barrier(grid.comm);
    way.exchange(0, program.stream);
    CUDA(cudaStreamSynchronize(program.stream));
    wrong += n_wrong(grid, arrays, only_faces);
  }
  if (graph != nullptr) CUDA(cudaGraphExecDestroy(graph));
  if (grid.rank == 0)
    std::printf("%s,%d,%d,%d,%d,%s,%.3f,%.3f,%ld\n", program.is_jacobi ? "jacobi" : "halo", grid.size, arrays.box.n,
                arrays.box.radius, arrays.box.components, way.name.c_str(), median(taken) * 1e6, median(queued) * 1e6,
                wrong);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return std::fprintf(stderr, "usage: driver jacobi|halo EDGE RADIUS COMPONENTS STEPS SAMPLES\n"), 2;
  const char* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  int n_gpus = 1;
  CUDA(cudaGetDeviceCount(&n_gpus));
  CUDA(cudaSetDevice((local != nullptr ? std::atoi(local) : 0) % n_gpus));
  CUDA(cudaFree(nullptr));
  MPI_Init(&argc, &argv);
  const bool is_jacobi = std::strcmp(argv[1], "jacobi") == 0;
  Grid grid{MPI_COMM_NULL, 0, 0, {}, {}};
  MPI_Comm_size(MPI_COMM_WORLD, &grid.size);
  MPI_Dims_create(grid.size, 3, grid.dims);
  const int periods[3] = {1, 1, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 3, grid.dims, periods, 0, &grid.comm);
  MPI_Comm_rank(grid.comm, &grid.rank);
  MPI_Cart_coords(grid.comm, grid.rank, 3, grid.at);

  Arrays arrays{{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])}, {}};
  constexpr std::size_t kPage = 2 << 20;  // other processes map whole pages (docs/performance.md)
  const std::size_t bytes = (arrays.box.values() * sizeof(double) + kPage - 1) / kPage * kPage;
  for (double*& data : arrays.data) CUDA(cudaMalloc(&data, bytes));
  const std::vector<Direction> all = directions(grid, arrays.box, is_jacobi);
  std::vector<MPI_Request> requests[2] = {requests_of(grid, arrays.box, all, arrays.data[0]),
                                          requests_of(grid, arrays.box, all, arrays.data[1])};
  Program program{is_jacobi, std::atoi(argv[5]), nullptr};
  CUDA(cudaStreamCreateWithFlags(&program.stream, cudaStreamNonBlocking));

  const auto enqueued = [&](int which, cudaStream_t stream) {
    std::vector<MPI_Request>& its = requests[which];
    if (TEMPI_Startall_enqueue(int(its.size()), its.data(), stream) != MPI_SUCCESS ||
        TEMPI_Waitall_enqueue(int(its.size()), its.data(), stream) != MPI_SUCCESS)
      std::fprintf(stderr, "an exchange could not be enqueued\n"), MPI_Abort(MPI_COMM_WORLD, 1);
  };
  const auto blocking = [&](int which, cudaStream_t stream) {
    CUDA(cudaStreamSynchronize(stream));
    MPI_Startall(int(requests[which].size()), requests[which].data());
    MPI_Waitall(int(requests[which].size()), requests[which].data(), MPI_STATUSES_IGNORE);
  };
  std::vector<Way> ways;
  if (is_jacobi) ways.push_back({"compute", [](int, cudaStream_t) {}, false});
  ways.push_back({"blocking", blocking, false});
  ways.push_back({"enqueued", enqueued, false});
  ways.push_back({"enqueued-graph", enqueued, true});
#ifdef WITH_NCCL
  const Exchange nccl = by_nccl(grid, arrays, all);
  ways.push_back({"nccl", nccl, false});
  ways.push_back({"nccl-graph", nccl, true});
#endif
  for (const Way& way : ways) run(grid, arrays, program, way, std::atoi(argv[6]), is_jacobi);
  for (auto& its : requests)
    for (MPI_Request& request : its) MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
