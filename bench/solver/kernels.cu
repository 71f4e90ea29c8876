// The kernels of conjugate gradients on a block of n³ points. Arrays have n + 2 points along each axis: a layer of
// ghost cells on every side. Axes are z, y, x. A thread goes through its elements in steps of the whole grid.

#define FOR_MY_ELEMENTS(i, count)                                                                \
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < (count); \
       i += static_cast<long long>(gridDim.x) * blockDim.x)

constexpr unsigned kThreads = THREADS;

// q = A p, where A is 6.125 on the diagonal and -1 for each of the six neighbours.
extern "C" __global__ void stencil(const double* __restrict__ p, double* __restrict__ q, int n) {
  const long long row = n + 2, plane = row * row;
  FOR_MY_ELEMENTS(i, static_cast<long long>(n) * n * n) {
    const unsigned line = static_cast<unsigned>(i) / n;
    const long long at = (line / n + 1) * plane + (line % n + 1) * row + static_cast<unsigned>(i) % n + 1;
    q[at] = 6.125 * p[at] - (p[at - plane] + p[at + plane] + p[at - row] + p[at + row] + p[at - 1] + p[at + 1]);
  }
}

// The sum of all threads of a block, for its thread 0.
__device__ double sum_of_block(double mine, double* sums) {
  sums[threadIdx.x] = mine;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

// The last block to finish sums up the partial sums of all blocks: the order of additions is always the same.
// partial: one element for each block. finished: 0 before, and again afterwards.
extern "C" __global__ void dot(const double* a, const double* b, long long count, double* partial, unsigned* finished,
                               double* result) {
  __shared__ double sums[kThreads];
  __shared__ bool is_last;
  double mine = 0;
  FOR_MY_ELEMENTS(i, count) mine += a[i] * b[i];
  mine = sum_of_block(mine, sums);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;
    __threadfence();
    is_last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  const volatile double* const of_blocks = partial;
  mine = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) mine += of_blocks[i];
  mine = sum_of_block(mine, sums);
  if (threadIdx.x == 0) {
    *result = mine;
    *finished = 0;
  }
}

// y += sign * above / below * x
extern "C" __global__ void axpy(const double* __restrict__ x, double* __restrict__ y, const double* above,
                                const double* below, double sign, long long count) {
  const double factor = sign * *above / *below;
  FOR_MY_ELEMENTS(i, count) y[i] += factor * x[i];
}

// p = r + above / below * p
extern "C" __global__ void turn(const double* __restrict__ r, double* __restrict__ p, const double* above,
                                const double* below, long long count) {
  const double factor = *above / *below;
  FOR_MY_ELEMENTS(i, count) p[i] = r[i] + factor * p[i];
}

// Packs the outermost owned points (packs = 1), or unpacks what has arrived into the ghost cells. blockIdx.y is the
// message: 2 * axis, plus 1 if it travels upwards.
extern "C" __global__ void move_faces(double* __restrict__ data, double* __restrict__ buffer, int n, int packs) {
  const long long row = n + 2, plane = row * row;
  const unsigned axis = blockIdx.y / 2;
  const bool is_upward = blockIdx.y % 2 != 0;
  const long long layer = packs ? (is_upward ? n : 1) : (is_upward ? 0 : n + 1);
  const long long across = axis == 0 ? plane : axis == 1 ? row : 1;
  const long long slow = axis == 0 ? row : plane, fast = axis == 2 ? row : 1;
  const long long count = static_cast<long long>(n) * n;
  double* const packed = buffer + blockIdx.y * count;
  FOR_MY_ELEMENTS(i, count) {
    double* const cell = data + layer * across + (i / n + 1) * slow + (i % n + 1) * fast;
    if (packs) packed[i] = *cell;
    else *cell = packed[i];
  }
}
