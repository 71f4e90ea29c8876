// The cases that every benchmark binary reads, so that the limit, TEMPI and the libraries do the same work.
//
// A case file has one case a line, `key=value` words, written by bench/common/cases.py. Glossary:
//   field     one member of a struct, or one of `count` elements: `fields` of them, `field_stride` bytes apart
//   block     dense bytes; a regular field has n_blocks of them, `stride` bytes apart
//   rows      3-D types: so many blocks, then a jump to the next plane (`plane_stride`); 0 = no planes
//   base      offset of the first data byte from the buffer argument
// Example: id=v kind=vector element=double n_blocks=128 block=8 stride=16 fields=1 field_stride=0 rows=0 ...
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tempi::bench {

struct Case {
  std::string id, kind, element, order;
  std::int64_t n_blocks = 0, block = 0, stride = 0, rows = 0, plane_stride = 0;
  std::int64_t fields = 1, field_stride = 0, base = 0, seed = 1;
  std::array<std::int64_t, 3> sizes{}, subsizes{}, starts{};  // elements, C order; for subarrays
  bool irregular() const { return kind == "indexed_block" || kind == "indexed" || kind == "hindexed"; }
};

// One dense run of bytes, in type-map order.
struct Block {
  std::int64_t offset, length;
};

inline std::int64_t element_bytes(const Case& c) {
  if (c.element == "byte") return 1;
  return c.element == "float" ? 4 : 8;
}

inline std::uint64_t next_random(std::uint64_t& state) {  // splitmix64: the same numbers from every standard library
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Irregular blocks live one in each slot of `stride` bytes: they never overlap, so unpack is well defined.
inline Block random_block(const Case& c, std::int64_t slot, std::uint64_t& state) {
  const std::int64_t start = slot * c.stride, element = element_bytes(c);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(next_random(state) % n); };
  if (c.kind == "indexed_block") return {start + below(c.stride / c.block) * c.block, c.block};
  const std::int64_t length = (1 + below(2 * c.block / element - 1)) * element;
  return {start + below((c.stride - length) / element + 1) * element, length};
}

inline std::vector<Block> irregular_blocks(const Case& c) {
  std::uint64_t state = static_cast<std::uint64_t>(c.seed);
  std::vector<Block> blocks(c.n_blocks);
  if (c.order == "gaps") {  // 1 to 16 sizes of a block between one and the next
    std::int64_t offset = 0;
    for (Block& block : blocks) {
      block = {offset, c.block};
      offset += c.block * static_cast<std::int64_t>(2 + next_random(state) % 16);
    }
    return blocks;
  }
  for (std::int64_t i = 0; i < c.n_blocks; ++i) blocks[i] = random_block(c, i, state);
  if (c.order == "shuffled")
    for (std::int64_t i = c.n_blocks - 1; i > 0; --i) std::swap(blocks[i], blocks[next_random(state) % (i + 1)]);
  return blocks;
}

inline std::int64_t block_offset(const Case& c, std::int64_t field, std::int64_t i) {
  const std::int64_t start = c.base + field * c.field_stride;
  if (c.rows == 0) return start + i * c.stride;
  return start + i / c.rows * c.plane_stride + i % c.rows * c.stride;
}

// Calls visit(Block) in packed order; `irregular` is what irregular_blocks returned (empty for regular cases).
template <class Visit>
void for_each_block(const Case& c, const std::vector<Block>& irregular, Visit visit) {
  for (const Block& block : irregular) visit(block);
  if (c.irregular()) return;
  for (std::int64_t field = 0; field < c.fields; ++field)
    for (std::int64_t i = 0; i < c.n_blocks; ++i) visit(Block{block_offset(c, field, i), c.block});
}

struct Extent {
  std::int64_t payload_bytes = 0, span_bytes = 0;  // span: from the buffer argument to the last data byte
};

inline Extent extent_of(const Case& c, const std::vector<Block>& irregular) {
  if (!c.irregular()) return {c.fields * c.n_blocks * c.block, block_offset(c, c.fields - 1, c.n_blocks - 1) + c.block};
  Extent extent;
  for (const Block& block : irregular) {
    extent.payload_bytes += block.length;
    extent.span_bytes = std::max(extent.span_bytes, block.offset + block.length);
  }
  return extent;
}

// An upper bound that needs no list of blocks, to size buffers once for all cases.
inline Extent extent_bound(const Case& c) {
  if (!c.irregular()) return extent_of(c, {});
  return {c.n_blocks * c.block * 2, c.n_blocks * c.stride};
}

inline Extent largest_extent(const std::vector<Case>& cases) {
  Extent largest;
  for (const Case& c : cases) {
    const Extent bound = extent_bound(c);
    largest = {std::max(largest.payload_bytes, bound.payload_bytes), std::max(largest.span_bytes, bound.span_bytes)};
  }
  return largest;
}

inline std::array<std::int64_t, 3> parse_triple(const std::string& text) {
  std::array<std::int64_t, 3> out{};
  std::istringstream words(text);
  char comma;
  words >> out[0] >> comma >> out[1] >> comma >> out[2];
  return out;
}

inline Case parse_case(const std::string& line) {
  std::map<std::string, std::string> values;
  std::istringstream words(line);
  for (std::string word; words >> word;) values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  const auto number = [&](const char* key) { return std::stoll(values.at(key)); };
  Case c;
  c.id = values.at("id"), c.kind = values.at("kind"), c.element = values.at("element"), c.order = values.at("order");
  c.n_blocks = number("n_blocks"), c.block = number("block"), c.stride = number("stride");
  c.rows = number("rows"), c.plane_stride = number("plane_stride");
  c.fields = number("fields"), c.field_stride = number("field_stride"), c.base = number("base");
  c.sizes = parse_triple(values.at("sizes"));
  c.subsizes = parse_triple(values.at("subsizes"));
  c.starts = parse_triple(values.at("starts"));
  return c;
}

inline std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the case file " + path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) cases.push_back(parse_case(line));
  return cases;
}

}  // namespace tempi::bench
