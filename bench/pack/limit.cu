// The machine's limit: for each case the best of many kernels that know its shape at compile time.
// Usage: limit --cases FILE [--max-seconds S]. Times are launch + synchronise by the host's clock, as in MPI_Pack.
#include <memory>

#include "common/pattern.hpp"
#include "pack/limit_main.hpp"
#include "pack/limit_search.hpp"
#include "pack/limit_variants.cuh"

namespace tempi::bench {
namespace {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) {
    check(cudaMalloc(&data_, values.size() * sizeof(T)), "cudaMalloc");
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
  }
  DeviceArray(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  const T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

class Limit {
 public:
  Limit(double max_seconds, const Extent& largest) : max_seconds_(max_seconds), in_buffer_(17), in_packed_(42) {
    constexpr std::int64_t guard = 4096;
    check(cudaMalloc(&buffer_, std::max(largest.span_bytes, largest.payload_bytes) + guard), "cudaMalloc");
    check(cudaMalloc(&packed_, largest.payload_bytes + guard), "cudaMalloc");
  }

  void report_launch() {
    const Candidate empty{"empty kernel", [](cudaStream_t stream) { do_nothing<<<1, 128, 0, stream>>>(); }};
    search_.time(empty, max_seconds_);
    print_row("empty_launch", "launch", 0, search_.time(empty, max_seconds_), true, empty.name);
  }

  // The time to copy the same bytes without gaps: once in a run, after that at every payload.
  void report_copies(std::int64_t payload) {
    const Candidate copy{"cudaMemcpyDeviceToDevice", [&](cudaStream_t stream) {
                           cudaMemcpyAsync(packed_, buffer_, payload, cudaMemcpyDeviceToDevice, stream);
                         }};
    print_row("device_copy@" + std::to_string(payload), "copy", payload, search_.time(copy, max_seconds_), true,
              copy.name);
    constexpr std::int64_t block = 4096;
    if (payload % block != 0) return;
    Case contiguous;
    contiguous.n_blocks = payload / block, contiguous.block = contiguous.stride = block;
    const std::vector<Candidate> candidates = regular_candidates(contiguous, true);
    const Best best = search_.best_of(candidates, max_seconds_);
    print_row("kernel_copy@" + std::to_string(payload), "copy", payload, best.sample, true, best.candidate->name);
  }

  void run(const Case& c) {
    if (!c.irregular()) return both_directions(c, {}, [&](bool gather) { return regular_candidates(c, gather); });
    const std::vector<Block> blocks = irregular_blocks(c);
    if (c.kind == "indexed_block") return run_indexed(c, blocks);
    run_pieces(c, blocks);
  }

 private:
  std::vector<Candidate> regular_candidates(const Case& c, bool gather) const {
    std::vector<Candidate> out;
    const auto shape = regular_shapes().find({c.block, c.stride, c.rows});
    if (shape == regular_shapes().end() || c.fields > kMaxFields) return out;
    const int possible_word = word_of(c.base, c.field_stride, c.rows == 0 ? 0 : c.plane_stride);
    for (const auto& variant : shape->second) {
      if (variant.word_bytes > possible_word) continue;
      const Target target = target_of(c, variant.word_bytes);
      for (const Launch& launch : search_.launches(target.words_per_field, variant.unroll)) {
        const dim3 grid(launch.blocks, static_cast<unsigned>(c.fields));
        const RegularKernel kernel = gather ? variant.gather : variant.scatter;
        out.push_back({launch_name(variant.word_bytes, variant.unroll, launch),
                       [=](cudaStream_t stream) { kernel<<<grid, launch.threads, 0, stream>>>(target); }});
      }
    }
    return out;
  }

  Target target_of(const Case& c, int word_bytes) const {
    Target target{};
    for (std::int64_t f = 0; f < c.fields; ++f) target.fields[f] = buffer_ + c.base + f * c.field_stride;
    target.packed = packed_;
    target.words_per_field = static_cast<std::uint32_t>(c.n_blocks * c.block / word_bytes);
    target.plane_stride = c.plane_stride;
    return target;
  }

  void run_indexed(const Case& c, const std::vector<Block>& blocks) {
    const auto shape = indexed_shapes().find(c.block);
    if (shape == indexed_shapes().end()) return;
    const std::int64_t unit = element_bytes(c);
    std::vector<std::uint32_t> offsets;
    for (const Block& block : blocks) offsets.push_back(static_cast<std::uint32_t>(block.offset / unit));
    const DeviceArray<std::uint32_t> table(offsets);
    both_directions(c, blocks, [&](bool gather) {
      std::vector<Candidate> out;
      for (const auto& variant : shape->second) {
        const auto words = static_cast<std::uint32_t>(c.n_blocks * c.block / variant.word_bytes);
        const IndexedKernel kernel = gather ? variant.gather : variant.scatter;
        for (const Launch& launch : search_.launches(words, variant.unroll))
          out.push_back(
              {launch_name(variant.word_bytes, variant.unroll, launch), [=, &table, this](cudaStream_t stream) {
                 kernel<<<launch.blocks, launch.threads, 0, stream>>>(buffer_, packed_, table.data(), unit, words);
               }});
      }
      return out;
    });
  }

  void run_pieces(const Case& c, const std::vector<Block>& blocks) {
    if (c.element == "byte") return run_pieces_of<std::uint8_t>(c, blocks);
    if (c.element == "float") return run_pieces_of<std::uint32_t>(c, blocks);
    run_pieces_of<std::uint64_t>(c, blocks);
  }

  template <class Word>
  static std::vector<Piece> cut(const std::vector<Block>& blocks, std::int64_t piece_bytes) {
    constexpr std::int64_t word = sizeof(Word);
    std::vector<Piece> pieces;
    std::int64_t position = 0;
    for (const Block& block : blocks)
      for (std::int64_t done = 0; done < block.length; done += piece_bytes) {
        const std::int64_t n = std::min(piece_bytes, block.length - done);
        pieces.push_back({static_cast<std::uint32_t>((block.offset + done) / word),
                          static_cast<std::uint32_t>(position / word), static_cast<std::uint32_t>(n / word)});
        position += n;
      }
    return pieces;
  }

  template <class Word>
  void run_pieces_of(const Case& c, const std::vector<Block>& blocks) {
    std::vector<std::pair<std::int64_t, std::unique_ptr<DeviceArray<Piece>>>> tables;
    for (std::int64_t piece_bytes : {512, 2048, 8192}) {
      const std::vector<Piece> pieces = cut<Word>(blocks, piece_bytes);
      tables.emplace_back(pieces.size(), std::make_unique<DeviceArray<Piece>>(pieces));
    }
    both_directions(c, blocks, [&](bool gather) {
      std::vector<Candidate> out;
      for (const auto& [n, table] : tables) {
        add_pieces<Word, 8>(out, gather, *table, n);
        add_pieces<Word, 32>(out, gather, *table, n);
        add_pieces<Word, 128>(out, gather, *table, n);
      }
      return out;
    });
  }

  template <class Word, int Lanes>
  void add_pieces(std::vector<Candidate>& out, bool gather, const DeviceArray<Piece>& table, std::int64_t n) const {
    const auto kernel = gather ? copy_pieces<Word, Lanes, true> : copy_pieces<Word, Lanes, false>;
    for (const Launch& launch : search_.launches(n * Lanes, 1))
      out.push_back(
          {std::to_string(n) + " pieces of " + std::to_string(Lanes) + " lanes " + launch_name(sizeof(Word), 4, launch),
           [=, &table, this](cudaStream_t stream) {
             kernel<<<launch.blocks, launch.threads, 0, stream>>>(reinterpret_cast<Word*>(buffer_),
                                                                  reinterpret_cast<Word*>(packed_), table.data(),
                                                                  static_cast<std::uint32_t>(n));
           }});
  }

  template <class Candidates>
  void both_directions(const Case& c, const std::vector<Block>& blocks, Candidates candidates) {
    const Extent extent = extent_of(c, blocks);
    for (const bool gather : {true, false}) {
      const std::vector<Candidate> all = candidates(gather);
      if (all.empty()) return;
      const Best best = search_.best_of(all, max_seconds_);
      const bool right = is_right(c, blocks, extent, gather, *best.candidate);
      print_row(c.id, gather ? "pack" : "unpack", extent.payload_bytes, best.sample, right, best.candidate->name);
    }
  }

  bool is_right(const Case& c, const std::vector<Block>& blocks, const Extent& extent, bool gather,
                const Candidate& candidate) {
    const auto copy = [](char* dst, const char* src, std::int64_t n) {
      check(cudaMemcpy(dst, src, n, cudaMemcpyDefault), "cudaMemcpy");
    };
    in_buffer_.fill(buffer_, extent.span_bytes, copy);
    in_packed_.fill(packed_, extent.payload_bytes, copy);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    search_.run(candidate);
    return gather ? pack_is_right(c, blocks, in_buffer_, packed_, copy)
                  : unpack_is_right(c, blocks, in_buffer_, in_packed_, buffer_, copy);
  }

  double max_seconds_;
  Pattern in_buffer_, in_packed_;
  Search search_;
  char *buffer_ = nullptr, *packed_ = nullptr;
};

void run_all(const LimitOptions& options) {
  const std::vector<Case> cases = read_cases(options.cases);
  Limit limit(options.max_seconds, largest_extent(cases));
  print_header();
  limit.report_launch();
  report_all(limit, cases);
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  using namespace tempi::bench;
  return main_of("limit", [&] { run_all(parse_limit_options(argc, argv, 0.3)); });
}
