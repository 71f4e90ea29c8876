// The fused kernel of an expert: one launch packs all the boxes of all quantities into one buffer, or unpacks them.
// Boxes are the points that travel in the 26 directions, of each quantity. A block moves one tile of one box.

// One direction. All numbers count doubles.
struct Region {
  long long first_tile;             // of the tiles of one quantity
  long long packed;                 // offset of the message in the buffer: quantity by quantity, dense
  long long strided;                // offset of the box in a quantity
  long long planes, rows, columns;  // points along z, y and x
};

constexpr unsigned kTile = TILE;

// grid: tiles of one quantity, quantities. row, plane and volume: distances in the array between neighbours along y
// and z, and between quantities.
extern "C" __global__ void move_boxes(double* __restrict__ data, double* __restrict__ buffer,
                                      const Region* __restrict__ regions, int n_regions, long long row, long long plane,
                                      long long volume) {
  int region = 0;  // the last one whose first tile is not after this block's
  for (int past = n_regions; past - region > 1;) {
    const int middle = (region + past) / 2;
    if (regions[middle].first_tile <= blockIdx.x) region = middle;
    else past = middle;
  }
  const Region r = regions[region];
  const unsigned rows = static_cast<unsigned>(r.rows), columns = static_cast<unsigned>(r.columns);
  const unsigned elements = static_cast<unsigned>(r.planes) * rows * columns;
  const unsigned first = static_cast<unsigned>(blockIdx.x - r.first_tile) * kTile;
  const unsigned end = first + kTile < elements ? first + kTile : elements;
  double* const packed = buffer + r.packed + static_cast<long long>(blockIdx.y) * elements;
  double* const strided = data + r.strided + blockIdx.y * volume;
#pragma unroll 4
  for (unsigned i = first + threadIdx.x; i < end; i += blockDim.x) {
    const unsigned line = i / columns;
    const long long at = line / rows * plane + line % rows * row + i % columns;
#ifdef PACK
    packed[i] = strided[at];
#else
    strided[at] = packed[i];
#endif
  }
}
