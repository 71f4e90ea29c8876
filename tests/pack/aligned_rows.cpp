// Boxes with aligned rows (pack/aligned_rows.cpp) beside those that they are made of: the kernel's body must move the
// same bytes by both. aligned_rows SEED ROUNDS prints how many boxes were aligned.
#include "pack/aligned_rows.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "default_tuning.hpp"
#include "pack/kernel_body.hpp"
#include "pack/kernel_box.hpp"

using namespace tempi;
using namespace tempi::pack;

namespace {

constexpr std::size_t kBytes = 1 << 19;
constexpr std::uint32_t kThreads = 64;

struct Memory {
  template <class T>
  T* at(T* address) const {
    return address;
  }
  const KernelBox& fetch(const KernelBox* box, std::uint32_t) const { return *box; }
};

struct alignas(kLineBytes) Line {
  char bytes[kLineBytes];
};
using Lines = std::vector<Line>;
char* bytes_of(Lines& lines) { return lines.front().bytes; }

template <Depth kDepth, std::uint32_t kWordBytes>
void move(const KernelBox& box) {
  std::vector<TileOfList> tiles(tiles_of(box, kDepth, kThreads));
  for (std::uint32_t i = 0; i < tiles.size(); ++i) tiles[i] = {0, i};
  AlignedBoxes list{};
  list.boxes = &box;
  list.tiles = tiles.data();
  list.tiles_per_element = static_cast<std::uint32_t>(tiles.size());
  for (std::uint32_t tile = 0; tile < tiles.size(); ++tile) {
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      run<kDepth, kWordBytes>(list, {tile, thread, kThreads}, Memory{});
  }
}

void move(const KernelBox& box, std::int64_t kernel) {
  switch (kernel) {
    case 0: return move<Depth::x1, kMixedWords>(box);
    case 1: return move<Depth::irregular, kMixedWords>(box);
    case 2: return box.word_bytes == 8 ? move<Depth::x8, 8>(box) : move<Depth::x4, 16>(box);
    default: return box.word_bytes == 8 ? move<Depth::x2, 8>(box) : move<Depth::x1, 16>(box);
  }
}

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t of(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }

  // Its rows do not overlap, and lie within kBytes on both sides.
  KernelBox box() {
    const std::int64_t word = of(0, 1) ? 16 : 8;
    datatype::Box box;
    box.block_bytes = word * of(1, 300);
    box.n_dims = static_cast<int>(of(0, 3));
    std::int64_t src = box.block_bytes, dst = box.block_bytes;
    for (int d = 0; d < box.n_dims; ++d) {
      const std::int64_t n = of(2, 5);
      box.dims[static_cast<std::size_t>(d)] = {n, src + word * of(0, 20), dst + word * of(0, 20)};
      src = box.dims[static_cast<std::size_t>(d)].src_stride * n;
      dst = box.dims[static_cast<std::size_t>(d)].dst_stride * n;
    }
    box.src_offset = word * of(0, 30);
    box.dst_offset = word * of(0, 30);
    if (src + 500 > static_cast<std::int64_t>(kBytes) || dst + 500 > static_cast<std::int64_t>(kBytes))
      return this->box();
    return kernel_box({box}, static_cast<std::uint32_t>(word), {});
  }

 private:
  std::mt19937 engine_;
};

bool check(Draw& draw) {
  const Lines empty(kBytes / kLineBytes);
  Lines from = empty, to = empty, to_aligned = empty;
  for (std::size_t i = 0; i < kBytes; ++i) bytes_of(from)[i] = static_cast<char>(draw.of(-128, 127));
  KernelBox box = draw.box();
  const std::int64_t kernel = draw.of(0, 3), dst_offset = box.dst_offset;
  box.src_offset += reinterpret_cast<std::intptr_t>(bytes_of(from));
  box.dst_offset = dst_offset + reinterpret_cast<std::intptr_t>(bytes_of(to));
  move(box, kernel);
  box.dst_offset = dst_offset + reinterpret_cast<std::intptr_t>(bytes_of(to_aligned));
  const KernelBox aligned = with_aligned_rows(box);
  move(aligned, kernel);
  if (!std::equal(bytes_of(to), bytes_of(to) + kBytes, bytes_of(to_aligned))) {
    std::printf("%u words of %u bytes in %d loops: other bytes\n", box.n_words, unsigned{box.word_bytes}, box.n_dims);
    std::exit(1);
  }
  return aligned.row_words != 0;
}

}  // namespace

int main(int, char** arguments) {
  Draw draw(static_cast<unsigned>(std::atoi(arguments[1])));
  int n_aligned = 0;
  for (int i = std::atoi(arguments[2]); i > 0; --i) n_aligned += check(draw);
  std::printf("%d\n", n_aligned);
}
