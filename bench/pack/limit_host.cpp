// The limit of one core on host memory: the best loop that knows block and stride at compile time. Usage: limit_host
// --cases FILE [--max-seconds S]. Build with -O3 -march=native: a person who specialises would.
#include <functional>
#include <immintrin.h>
#include <map>
#include <numeric>
#include <tuple>

#include "common/memory.hpp"
#include "common/pattern.hpp"
#include "common/timing.hpp"
#include "pack/limit_main.hpp"

namespace tempi::bench {
namespace {

// Copies n blocks between their places and a dense run.
using RunLoop = void (*)(char* strided, char* dense, std::int64_t n);
struct Loop {
  const char* name;
  RunLoop gather, scatter;
};

template <class Word>
struct __attribute__((packed, may_alias)) Loose {  // subarrays of doubles need not start on a word of 16
  Word value;
};

template <class Word, int Block, int Stride, bool Gather>
void word_loop(char* __restrict strided, char* __restrict dense, std::int64_t n) {
  constexpr int words = Block / static_cast<int>(sizeof(Word));
  for (std::int64_t i = 0; i < n; ++i)
    for (int w = 0; w < words; ++w) {
      auto* far = reinterpret_cast<Loose<Word>*>(strided + i * Stride) + w;
      auto* near = reinterpret_cast<Loose<Word>*>(dense + i * Block) + w;
      if (Gather) near->value = far->value;
      else far->value = near->value;
    }
}

template <int Block, int Stride, bool Gather>
void memcpy_loop(char* strided, char* dense, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, strided += Stride, dense += Block)
    std::memcpy(Gather ? dense : strided, Gather ? strided : dense, Block);
}

inline void stream_line(char* dst, const char* src) {
  for (int i = 0; i < 64; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i)));
}

// Gathers whole lines of 64 bytes in registers or L1 and streams them out past the cache.
template <int Block, int Stride>
void streaming_gather(char* strided, char* dense, std::int64_t n) {
  constexpr int chunk = std::lcm(Block, 64), per_chunk = chunk / Block;
  std::int64_t i = 0;
  for (; i + per_chunk <= n; i += per_chunk, strided += per_chunk * std::int64_t{Stride}, dense += chunk) {
    if constexpr (Block % 64 == 0) {
      for (int at = 0; at < chunk; at += 64) stream_line(dense + at, strided + at);
    } else {
      alignas(64) char lines[chunk];
      memcpy_loop<Block, Stride, true>(strided, lines, per_chunk);
      for (int at = 0; at < chunk; at += 64) stream_line(dense + at, lines + at);
    }
  }
  _mm_sfence();
  memcpy_loop<Block, Stride, true>(strided, dense, n - i);
}

template <int Block, int Stride>
void streaming_scatter(char* strided, char* dense, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, strided += Stride, dense += Block)
    for (int at = 0; at < Block; at += 64) stream_line(strided + at, dense + at);
  _mm_sfence();
}

template <int Block, int Stride>
std::vector<Loop> loops() {
  std::vector<Loop> out{{"memcpy", memcpy_loop<Block, Stride, true>, memcpy_loop<Block, Stride, false>}};
  if constexpr (Block % 8 == 0)
    out.push_back({"8-byte words", word_loop<std::uint64_t, Block, Stride, true>,
                   word_loop<std::uint64_t, Block, Stride, false>});
  if constexpr (Block % 4 == 0)
    out.push_back({"4-byte words", word_loop<std::uint32_t, Block, Stride, true>,
                   word_loop<std::uint32_t, Block, Stride, false>});
  else
    out.push_back(
        {"bytes", word_loop<std::uint8_t, Block, Stride, true>, word_loop<std::uint8_t, Block, Stride, false>});
  // Streaming needs 16-byte addresses: the dense side always has them, the other where the shape keeps them.
  if constexpr (Stride % 16 == 0 && Block % 64 == 0)
    out.push_back({"streaming stores", streaming_gather<Block, Stride>, streaming_scatter<Block, Stride>});
  else out.push_back({"streaming stores", streaming_gather<Block, Stride>, nullptr});
  return out;
}

using ShapeKey = std::tuple<std::int64_t, std::int64_t>;
const std::map<ShapeKey, std::vector<Loop>>& shapes() {
  static const std::map<ShapeKey, std::vector<Loop>> all{
#define SHAPE(block, stride, rows) {{block, stride}, loops<block, stride>()},
#include "pack/limit_shapes.def"
#undef SHAPE
  };
  return all;
}

// Equal blocks at precomputed 32-bit offsets.
template <int Block, bool Gather>
void indexed_loop(char* base, char* dense, const std::vector<std::uint32_t>& offsets, std::int64_t unit) {
  for (const std::uint32_t offset : offsets) {
    std::memcpy(Gather ? dense : base + offset * unit, Gather ? base + offset * unit : dense, Block);
    dense += Block;
  }
}
using IndexedLoop = void (*)(char*, char*, const std::vector<std::uint32_t>&, std::int64_t);

template <bool Gather>
IndexedLoop indexed_loop_for(std::int64_t block) {
  static const std::map<std::int64_t, IndexedLoop> loops{
      {4, indexed_loop<4, Gather>},     {8, indexed_loop<8, Gather>},      {16, indexed_loop<16, Gather>},
      {32, indexed_loop<32, Gather>},   {64, indexed_loop<64, Gather>},    {128, indexed_loop<128, Gather>},
      {512, indexed_loop<512, Gather>}, {4096, indexed_loop<4096, Gather>}};
  const auto found = loops.find(block);
  return found == loops.end() ? nullptr : found->second;
}

// Short blocks of unknown length: no call. The tail overlaps the last whole word instead of going byte by byte.
inline void copy_short(char* to, const char* from, std::int64_t n) {
  constexpr std::int64_t word = 16;
  if (n < word) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  for (std::int64_t i = 0; i + word <= n; i += word) std::memcpy(to + i, from + i, word);
  std::memcpy(to + n - word, from + n - word, word);
}

class HostLimit {
 public:
  HostLimit(double max_seconds, const Extent& largest) : max_seconds_(max_seconds), in_buffer_(17), in_packed_(42) {
    constexpr std::int64_t guard = 4096;
    buffer_ = memory_.allocate(std::max(largest.span_bytes, largest.payload_bytes) + guard);
    packed_ = memory_.allocate(largest.payload_bytes + guard);
  }

  void report_copies(std::int64_t payload) {
    const auto copy = [&] { std::memcpy(packed_, buffer_, payload); };
    print_row("device_copy@" + std::to_string(payload), "copy", payload,
              measure(copy, [] {}, max_seconds_), true, "memcpy");
  }

  void run(const Case& c) {
    const std::vector<Block> blocks = c.irregular() ? irregular_blocks(c) : std::vector<Block>{};
    for (const bool gather : {true, false}) {
      fill(extent_of(c, blocks));
      if (c.kind == "indexed_block") run_indexed(c, blocks, gather);
      else if (c.irregular()) run_listed(c, blocks, gather);
      else run_regular(c, gather);
    }
  }

 private:
  auto copier() {
    return [](char* dst, const char* src, std::int64_t n) { std::memcpy(dst, src, n); };
  }

  void fill(const Extent& extent) {
    in_buffer_.fill(buffer_, extent.span_bytes, copier());
    in_packed_.fill(packed_, extent.payload_bytes, copier());
  }

  void walk(const Case& c, RunLoop loop) const {
    const std::int64_t rows = c.rows == 0 ? c.n_blocks : c.rows;
    char* dense = packed_;
    for (std::int64_t f = 0; f < c.fields; ++f)
      for (std::int64_t i = 0; i < c.n_blocks; i += rows, dense += rows * c.block)
        loop(buffer_ + block_offset(c, f, i), dense, rows);
  }

  static bool streams_aligned(const Case& c) {
    return c.base % 16 == 0 && c.field_stride % 16 == 0 && c.plane_stride % 16 == 0;
  }
  // A dense run starts on 16 bytes only when the runs before it are whole multiples.
  static bool dense_aligned(const Case& c) {
    const std::int64_t run = (c.rows == 0 ? c.n_blocks : c.rows) * c.block;
    return run % 16 == 0 || (c.fields == 1 && c.rows == 0);
  }

  void run_regular(const Case& c, bool gather) {
    const auto shape = shapes().find({c.block, c.stride});
    if (shape == shapes().end()) return;
    std::vector<std::pair<const char*, std::function<void()>>> candidates;
    for (const Loop& loop : shape->second) {
      const bool streaming = std::strcmp(loop.name, "streaming stores") == 0;
      const RunLoop run = gather ? loop.gather : loop.scatter;
      if (!run || (streaming && !(gather ? dense_aligned(c) : streams_aligned(c)))) continue;
      candidates.push_back({loop.name, [this, &c, run] { walk(c, run); }});
    }
    report(c, {}, gather, candidates);
  }

  void run_indexed(const Case& c, const std::vector<Block>& blocks, bool gather) {
    const IndexedLoop loop = gather ? indexed_loop_for<true>(c.block) : indexed_loop_for<false>(c.block);
    if (!loop) return;
    const std::int64_t unit = element_bytes(c);
    std::vector<std::uint32_t> offsets;
    for (const Block& block : blocks) offsets.push_back(static_cast<std::uint32_t>(block.offset / unit));
    report(c, blocks, gather, {{"32-bit offsets", [&] { loop(buffer_, packed_, offsets, unit); }}});
  }

  void run_listed(const Case& c, const std::vector<Block>& blocks, bool gather) {
    const auto listed = [&](auto copy) {
      return [=, this, &blocks] {
        char* dense = packed_;
        for (const Block& block : blocks) {
          gather ? copy(dense, buffer_ + block.offset, block.length)
                 : copy(buffer_ + block.offset, dense, block.length);
          dense += block.length;
        }
      };
    };
    report(c, blocks, gather,
           {{"memcpy a block", listed([](char* to, const char* from, std::int64_t n) {
               std::memcpy(to, from, static_cast<std::size_t>(n));
             })},
            {"words then a tail", listed(copy_short)}});
  }

  void report(const Case& c, const std::vector<Block>& blocks, bool gather,
              const std::vector<std::pair<const char*, std::function<void()>>>& candidates) {
    Sample best;
    const char* name = nullptr;
    bool right = true;
    for (const auto& [candidate, call] : candidates) {
      const Sample sample = measure(call, [] {}, max_seconds_);
      right = right && (gather ? pack_is_right(c, blocks, in_buffer_, packed_, copier())
                               : unpack_is_right(c, blocks, in_buffer_, in_packed_, buffer_, copier()));
      if (!name || sample.median_us < best.median_us) best = sample, name = candidate;
    }
    print_row(c.id, gather ? "pack" : "unpack", extent_of(c, blocks).payload_bytes, best, right, name);
  }

  double max_seconds_;
  Memory memory_{"host"};
  Pattern in_buffer_, in_packed_;
  char *buffer_ = nullptr, *packed_ = nullptr;
};

void run_all(const LimitOptions& options) {
  const std::vector<Case> cases = read_cases(options.cases);
  HostLimit limit(options.max_seconds, largest_extent(cases));
  print_header();
  report_all(limit, cases);
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  using namespace tempi::bench;
  return main_of("limit_host", [&] { run_all(parse_limit_options(argc, argv, 0.1)); });
}
