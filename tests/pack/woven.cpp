// Boxes before and after pack/woven.cpp, by the words that they move: woven SEED ROUNDS. Prints whether two faces were
// woven, by the distance between what one reads and the other writes, and how many pairs of random boxes.
#include "pack/woven.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "default_tuning.hpp"
#include "pack/kernel_body.hpp"
#include "pack/kernel_box.hpp"

using namespace tempi;
using namespace tempi::pack;

namespace {

using Word = std::pair<std::int64_t, std::int64_t>;

// As the kernels find them.
void add_words(const KernelBox& box, std::vector<Word>& words) {
  for (std::uint32_t word = 0; word < box.n_words; ++word) {
    std::uint32_t rest = word;
    Word at{box.src_offset, box.dst_offset};
    for (int d = 0; d < box.n_dims; ++d) {
      const std::uint32_t outer = d + 1 == box.n_dims ? 0 : quotient(rest, box.dims[d].magic, box.shifts[d]);
      const std::uint32_t index = rest - outer * box.dims[d].count;
      rest = outer;
      at.first += index * box.dims[d].src_stride;
      at.second += index * box.dims[d].dst_stride;
    }
    words.push_back(at);
  }
}

std::vector<Word> words_of(const std::vector<KernelBox>& boxes) {
  std::vector<Word> words;
  for (const KernelBox& box : boxes) add_words(box, words);
  std::sort(words.begin(), words.end());
  return words;
}

KernelBox made(datatype::Box box, std::int64_t src, std::int64_t dst, std::uint32_t word) {
  box.src_offset = src;
  box.dst_offset = dst;
  return kernel_box({box}, word, {});
}

// Their number afterwards.
std::size_t check(const std::vector<KernelBox>& boxes) {
  const std::vector<KernelBox> after = woven(boxes);
  if (words_of(boxes) == words_of(after)) return after.size();
  std::printf("%zu boxes, %zu after, move other words\n", boxes.size(), after.size());
  std::exit(1);
}

// Faces of 3 words in rows of 320 bytes, both ways: one reads so many bytes behind what the other writes.
bool are_woven(std::int64_t distance, std::int64_t between_written) {
  datatype::Box face;
  face.block_bytes = 24;
  face.n_dims = 2;
  face.dims[0] = {5, 320, 320};
  face.dims[1] = {4, 3200, 3200};
  const std::vector<KernelBox> boxes{made(face, 10000 + distance, 10000 + between_written, 8),
                                     made(face, 90000, 10000, 8)};
  return check(boxes) == 1;
}

datatype::Box random_loops(std::mt19937& draw) {
  const auto of = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(draw);
  };
  datatype::Box box;
  box.block_bytes = 8 * of(1, 4);
  box.n_dims = static_cast<int>(of(0, datatype::kMaxBoxDims));
  for (int d = 0; d < box.n_dims; ++d) {
    const std::int64_t stride = 8 * of(-300, 300);
    box.dims[static_cast<std::size_t>(d)] = {of(1, 4), stride, of(0, 3) > 0 ? stride : 8 * of(1, 300)};
  }
  return box;
}

std::size_t n_woven = 0;

// Several pairs of boxes, most of which meet.
void check_random(std::mt19937& draw) {
  const auto of = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(draw);
  };
  std::vector<KernelBox> boxes;
  for (std::int64_t n = of(1, 6); n > 0; --n) {
    const datatype::Box loops = random_loops(draw), others = of(0, 4) > 0 ? loops : random_loops(draw);
    const std::int64_t here = 8 * of(0, 100000), there = here + 8 * of(-400, 400);
    boxes.push_back(made(loops, here, there, 8));
    boxes.push_back(made(others, there + 8 * of(-9, 9), here + 8 * of(-9, 9), 8));
  }
  std::shuffle(boxes.begin(), boxes.end(), draw);
  n_woven += boxes.size() - check(boxes);
}

}  // namespace

int main(int, char** arguments) {
  for (const std::int64_t distance : {-72, -64, -56, 0, 24, 56, 64, 72})
    std::printf("%d %d\n", static_cast<int>(distance), are_woven(distance, 240));
  std::printf("behind each other %d\n", are_woven(24, 32000));
  std::mt19937 draw(static_cast<unsigned>(std::atoi(arguments[1])));
  for (int i = std::atoi(arguments[2]); i > 0; --i) check_random(draw);
  std::printf("%zu of random ones\n", n_woven);
}
