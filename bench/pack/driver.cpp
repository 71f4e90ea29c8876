// MPI_Pack and MPI_Unpack of each case of a list, timed and checked: an ordinary MPI program that knows no shim.
// Usage: pack_driver --cases FILE [--memory host|device|pinned|managed] [--max-seconds S] [--turns 1]
// With --turns 1 the library's own functions are called in turn with those that the program reaches, on the same
// buffers; rows of the library's are called CASE@library, and tell how many times its time is the other's.
#include "common/library.hpp"
#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/mpi_types.hpp"
#include "common/pattern.hpp"
#include "common/timing.hpp"

namespace tempi::bench {
namespace {

struct Options {
  std::string cases, memory = "host";
  double max_seconds = 1;
  bool turns = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--cases") options.cases = value;
    else if (name == "--memory") options.memory = value;
    else if (name == "--max-seconds") options.max_seconds = std::stod(value);
    else if (name == "--turns") options.turns = value == "1";
    else throw std::runtime_error("unknown option " + name);
  }
  return options;
}

// The two functions as the program reaches them, or past any shim.
struct Functions {
  decltype(&MPI_Pack) pack = MPI_Pack;
  decltype(&MPI_Unpack) unpack = MPI_Unpack;
};

Functions functions_of_library() {
  return {of_library<decltype(&MPI_Pack)>("PMPI_Pack"), of_library<decltype(&MPI_Unpack)>("PMPI_Unpack")};
}

class Driver {
 public:
  Driver(const Options& options, Memory& memory, const std::vector<Case>& cases)
      : max_seconds_(options.max_seconds), turns_(options.turns), memory_(memory), in_buffer_(17), in_packed_(42) {
    if (turns_) library_ = functions_of_library();
    constexpr std::int64_t guard = 4096, probe_bytes = 1 << 20;
    const Extent largest = largest_extent(cases);
    buffer_ = memory_.allocate(std::max(largest.span_bytes, probe_bytes) + guard);
    packed_ = memory_.allocate(std::max(largest.payload_bytes, probe_bytes) + guard);
    us_per_block_ = slope_us_per_block();
  }

  void run(const Case& c) {
    const std::vector<Block> blocks = c.irregular() ? irregular_blocks(c) : std::vector<Block>{};
    const double predicted_us = us_per_block_ * static_cast<double>(c.fields * c.n_blocks);
    if (predicted_us > max_seconds_ * 2e6) return report_skipped(c, blocks, predicted_us);
    Message message = make_message(c, blocks);
    pack(c, blocks, message);
    unpack(c, blocks, message);
    MPI_Type_free(&message.type);
  }

 private:
  // Some libraries need 8 us a block: 64 MiB of doubles would take a minute. Found out on small types, beforehand.
  double slope_us_per_block() {
    const double few = probe_us(256), many = probe_us(4096), slope = (many - few) / (4096 - 256);
    constexpr double slow = 0.5;
    return slope > slow ? slope : 0;
  }

  double probe_us(std::int64_t n_blocks) {
    Case probe;
    probe.kind = "vector", probe.element = "double", probe.n_blocks = n_blocks, probe.block = 8, probe.stride = 16;
    Message message = make_message(probe, {});
    const double us = time_pack(message, n_blocks * 8).median_us;
    MPI_Type_free(&message.type);
    return us;
  }

  auto copier() {
    return [this](char* dst, const char* src, std::int64_t n) { memory_.copy(dst, src, n); };
  }
  auto fence() {
    return [this] { memory_.fence(); };
  }

  auto packing(const Message& m, std::int64_t payload, const Functions& by) {
    return [=, this] {
      int position = 0;
      by.pack(buffer_, m.count, m.type, packed_, static_cast<int>(payload), &position, MPI_COMM_SELF);
    };
  }

  auto unpacking(const Message& m, std::int64_t payload, const Functions& by) {
    return [=, this] {
      int position = 0;
      by.unpack(packed_, static_cast<int>(payload), &position, buffer_, m.count, m.type, MPI_COMM_SELF);
    };
  }

  Sample time_pack(const Message& m, std::int64_t payload) {
    return measure(packing(m, payload, {}), fence(), max_seconds_);
  }

  // Times, checks and reports one direction.
  template <class Call, class IsRight>
  void tell(const Case& c, const char* direction, std::int64_t payload, Call call, Call librarys, IsRight is_right) {
    if (!turns_) {
      const Sample sample = measure(call, fence(), max_seconds_);
      return print_row(c.id, direction, payload, sample, is_right(), "");
    }
    const Turns turns = measure_in_turns(call, librarys, fence(), max_seconds_);
    call();
    print_row(c.id, direction, payload, turns.first, is_right(), "");
    librarys();
    print_row(c.id + "@library", direction, payload, turns.second, is_right(), std::to_string(turns.ratio));
  }

  void pack(const Case& c, const std::vector<Block>& blocks, const Message& message) {
    const Extent extent = extent_of(c, blocks);
    in_buffer_.fill(buffer_, extent.span_bytes, copier());
    in_packed_.fill(packed_, extent.payload_bytes, copier());
    tell(c, "pack", extent.payload_bytes, packing(message, extent.payload_bytes, {}),
         packing(message, extent.payload_bytes, library_),
         [&] { return pack_is_right(c, blocks, in_buffer_, packed_, copier()); });
  }

  void unpack(const Case& c, const std::vector<Block>& blocks, const Message& message) {
    const Extent extent = extent_of(c, blocks);
    in_packed_.fill(packed_, extent.payload_bytes, copier());
    tell(c, "unpack", extent.payload_bytes, unpacking(message, extent.payload_bytes, {}),
         unpacking(message, extent.payload_bytes, library_),
         [&] { return unpack_is_right(c, blocks, in_buffer_, in_packed_, buffer_, copier()); });
  }

  void report_skipped(const Case& c, const std::vector<Block>& blocks, double predicted_us) {
    const Sample sample{predicted_us, predicted_us, predicted_us, 0};
    for (const char* direction : {"pack", "unpack"})
      print_row(c.id, direction, extent_of(c, blocks).payload_bytes, sample, true, "predicted from the time a block");
  }

  double max_seconds_, us_per_block_ = 0;
  bool turns_;
  Functions library_;
  Memory& memory_;
  Pattern in_buffer_, in_packed_;
  char *buffer_ = nullptr, *packed_ = nullptr;
};

// The GPU's context comes first: CUDA-aware libraries look for one in MPI_Init.
void run_all(const Options& options, int* argc, char*** argv) {
  const std::vector<Case> cases = read_cases(options.cases);
  Memory memory(options.memory);
  MPI_Init(argc, argv);
  print_header();
  Driver driver(options, memory, cases);
  for (const Case& c : cases) driver.run(c);
  MPI_Finalize();
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  using namespace tempi::bench;
  return main_of("pack_driver", [&] { run_all(parse_options(argc, argv), &argc, &argv); });
}
