// Messages between two ranks, and their parts: an ordinary MPI program that knows no shim. Usage: mpirun -n 2
// send_driver --cases FILE --tasks A,B,... [--memory host|device] [--gpus N] [--max-seconds S]
//          [--slow-seconds S] [--deadline S] [--parts-bytes N] [--halo-rounds N]
// Tasks, in this order whatever the order asked for:
//   self        a contiguous Isend + Recv + Wait to self, in host memory; with a GPU: before and after CUDA starts
//   machine     empty launch + synchronise, pointer query, copies to and from pinned host memory
//   host        contiguous ping-pong, pageable and pinned        device      the same in device memory
//   halo_host   26 + 26 contiguous messages of 2 KiB             halo        the same, strided
//   halo_count  --halo-rounds exchanges of the smallest block    parts       MPI_Pack and MPI_Unpack of --parts-bytes
//   strided     ping-pong of every case
#include <memory>
#include <set>

#include "common/main.hpp"
#include "send/halo.hpp"

namespace tempi::bench {
namespace {

struct Options {
  std::string cases, tasks, memory = "host";
  double max_seconds = 0.15, slow_seconds = 0.5, deadline_seconds = 30;
  std::int64_t parts_bytes = 64 << 20;
  int gpus = 1, halo_rounds = 10;
  bool has(const std::string& task) const { return ("," + tasks + ",").find("," + task + ",") != std::string::npos; }
};

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--cases") options.cases = value;
    else if (name == "--tasks") options.tasks = value;
    else if (name == "--memory") options.memory = value;
    else if (name == "--gpus") options.gpus = std::stoi(value);
    else if (name == "--max-seconds") options.max_seconds = std::stod(value);
    else if (name == "--slow-seconds") options.slow_seconds = std::stod(value);
    else if (name == "--deadline") options.deadline_seconds = std::stod(value);
    else if (name == "--parts-bytes") options.parts_bytes = std::stoll(value);
    else if (name == "--halo-rounds") options.halo_rounds = std::stoi(value);
    else throw std::runtime_error("unknown option " + name);
  }
  return options;
}

// Known before MPI_Init, when the GPU must be chosen.
int local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 0;
}

// One buffer for each purpose, made when a task first asks.
class Buffers {
 public:
  Buffers(const Options& options, int device, const std::vector<Case>& cases)
      : data_(options.memory, device), pinned_(data_.gpu() ? "pinned" : "host", device) {
    std::int64_t strided = halo_buffer_bytes(kHaloStride / 2), payload = 2 * kNeighbours * kHaloBytes;
    for (const Case& c : cases) {
      strided = std::max({strided, extent_of(c, {}).span_bytes + kGuardBytes, halo_buffer_bytes(c.block)});
      payload = std::max(payload, extent_of(c, {}).payload_bytes);
    }
    strided_bytes_ = strided, payload_bytes_ = payload;
  }
  const Memory& data() const { return data_; }
  char* strided() { return once(strided_buffer_, data_, strided_bytes_); }
  char* packed() { return once(packed_buffer_, data_, payload_bytes_); }
  char* pinned() { return once(pinned_buffer_, pinned_, payload_bytes_); }
  char* pageable() { return once(pageable_buffer_, host_, payload_bytes_); }

 private:
  static char* once(char*& buffer, Memory& memory, std::int64_t bytes) {
    if (!buffer) {
      buffer = memory.allocate(bytes);
      Pattern(7).fill(buffer, bytes, [&](char* dst, const char* src, std::int64_t n) { memory.copy(dst, src, n); });
    }
    return buffer;
  }

  Memory data_, pinned_, host_{"host"};
  std::int64_t strided_bytes_ = 0, payload_bytes_ = 0;
  char *strided_buffer_ = nullptr, *packed_buffer_ = nullptr, *pinned_buffer_ = nullptr, *pageable_buffer_ = nullptr;
};

class Driver {
 public:
  Driver(const Options& options, Buffers& buffers, std::vector<Case> cases)
      : options_(options), buffers_(buffers), cases_(std::move(cases)) {
    for (const Case& c : cases_) payloads_.insert(c.n_blocks * c.block), blocks_.insert(c.block);
  }

  void run() {
    if (pair_.leads()) print_header();
    if (options_.has("self")) self();
    if (options_.has("machine") && buffers_.data().gpu()) pair_.alone([this] { machine(); });
    if (options_.has("host")) {
      contiguous("pageable", buffers_.pageable());
      if (buffers_.data().gpu()) contiguous("pinned", buffers_.pinned());
    }
    if (options_.has("halo_host")) time_contiguous_halo(pair_, buffers_.pageable(), options_.max_seconds);
    if (options_.has("device")) contiguous("device", buffers_.packed());
    if (options_.has("halo"))
      for (const std::int64_t block : halo_blocks())
        time_halo(pair_, buffers_.data(), buffers_.strided(), block, options_.max_seconds);
    if (options_.has("halo_count")) count_halo(pair_, buffers_.strided(), *halo_blocks().begin(), options_.halo_rounds);
    if (options_.has("parts")) pair_.alone([this] { parts(); });
    if (options_.has("strided")) strided();
  }

 private:
  // The least of many medians: differences of a few ns count, on a machine with other load.
  Sample self_round() const {
    double out = 1, in = 0;
    const auto call = [&] {
      MPI_Request request;
      MPI_Isend(&out, 1, MPI_DOUBLE, 0, 3, MPI_COMM_SELF, &request);
      MPI_Recv(&in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    Sample best = measure(call, [] {}, options_.max_seconds);
    for (int i = 0; i < 20; ++i) {
      const Sample next = measure(call, [] {}, options_.max_seconds);
      if (next.median_us < best.median_us) best = next;
    }
    return best;
  }

  // Never with a GPU buffer in this process before: the first half is a program that does not use CUDA.
  void self() const {
    pair_.alone([this] {
      print_row("self-8B", "cuda_off", 8, self_round(), true, "Isend + Recv + Wait to self");
      if (options_.gpus == 0) return;
      const Gpu gpu(0);
      print_row("self-8B", "cuda_on", 8, self_round(), true, "Isend + Recv + Wait to self");
      query(gpu);
    });
  }

  void query(const Gpu& gpu) const {
    const double host = 0;
    const Sample sample = measure([&] { gpu.query_pointer(&host); }, [] {}, options_.max_seconds);
    print_row("pointer", "query", 0, sample, true, "of a host address");
  }

  // Without it a bar cannot be judged; all the others can.
  void launch(const Gpu& gpu) const {
    try {
      const EmptyKernel kernel(gpu);
      const Sample sample = measure([&] { kernel.launch_and_synchronise(); }, [] {}, options_.max_seconds);
      print_row("empty_launch", "launch", 0, sample, true, "empty kernel and stream synchronise");
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "send_driver: no empty kernel: %s\n", error.what());
    }
  }

  void machine() {
    const Gpu& gpu = *buffers_.data().gpu();
    launch(gpu);
    query(gpu);
    for (const std::int64_t n : payloads_) {
      copy_time("d2h", buffers_.pinned(), buffers_.packed(), n);
      copy_time("h2d", buffers_.packed(), buffers_.pinned(), n);
    }
  }

  void copy_time(const char* direction, char* dst, const char* src, std::int64_t n) const {
    const Sample sample = measure([&] { buffers_.data().copy(dst, src, n); }, [] {}, options_.max_seconds / 2);
    print_row(bytes_id(n), direction, n, sample, true, "copy, pinned");
  }

  void contiguous(const char* name, char* buffer) const {
    for (const std::int64_t n : payloads_) {
      const Message message{MPI_BYTE, static_cast<int>(n)};
      const Sample sample = pair_.ping_pong(buffer, message, options_.max_seconds);
      if (pair_.leads()) print_row(bytes_id(n), name, n, sample, true, "contiguous half round trip");
    }
  }

  // Bytes are not checked here: bench.pack does.
  void parts() {
    for (const Case& c : cases_) {
      if (c.n_blocks * c.block != options_.parts_bytes) continue;
      Message message = make_message(c, {});
      pack_and_unpack(c, message, "pack", "unpack", buffers_.packed());
      if (buffers_.data().gpu()) pack_and_unpack(c, message, "pack_host", "unpack_host", buffers_.pinned());
      MPI_Type_free(&message.type);
    }
  }

  void pack_and_unpack(const Case& c, const Message& m, const char* pack, const char* unpack, char* packed) {
    const int bytes = static_cast<int>(c.n_blocks * c.block);
    char* buffer = buffers_.strided();
    const auto fence = [this] { buffers_.data().fence(); };
    const auto packing = [&] {
      int position = 0;
      MPI_Pack(buffer, m.count, m.type, packed, bytes, &position, MPI_COMM_WORLD);
    };
    const auto unpacking = [&] {
      int position = 0;
      MPI_Unpack(packed, bytes, &position, buffer, m.count, m.type, MPI_COMM_WORLD);
    };
    print_row(c.id, pack, bytes, measure(packing, fence, options_.max_seconds / 2), true, "");
    print_row(c.id, unpack, bytes, measure(unpacking, fence, options_.max_seconds / 2), true, "");
  }

  void strided() {
    StridedSends sends(pair_, buffers_.data(), buffers_.strided(), options_.max_seconds, options_.slow_seconds);
    sends.warm_up(cases_.front());
    for (const Case& c : cases_) {
      const bool late = us_since(start_) > options_.deadline_seconds * 1e6;
      if (pair_.agree(late ? 1 : 0) == 1) {
        if (pair_.leads()) std::fprintf(stderr, "send_driver: out of time at %s\n", c.id.c_str());
        return;
      }
      sends.run(c);
    }
  }

  std::set<std::int64_t> halo_blocks() const {
    std::set<std::int64_t> fitting;
    for (const std::int64_t block : blocks_)
      if (block >= 8 && block < kHaloStride) fitting.insert(block);
    if (fitting.empty()) fitting.insert(kHaloStride / 2);
    return fitting;
  }

  static std::string bytes_id(std::int64_t n) { return "bytes-" + std::to_string(n); }

  const Options& options_;
  Buffers& buffers_;
  std::vector<Case> cases_;
  std::set<std::int64_t> payloads_, blocks_;
  Clock::time_point start_ = Clock::now();
  Pair pair_;
};

// The GPU's context comes first: CUDA-aware libraries look for one in MPI_Init.
void run_all(const Options& options, int* argc, char*** argv) {
  std::vector<Case> cases = read_cases(options.cases);
  Buffers buffers(options, options.gpus > 0 ? local_rank() % options.gpus : 0, cases);
  MPI_Init(argc, argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) throw std::runtime_error("needs two ranks");
  if (cases.empty()) throw std::runtime_error("no cases");
  Driver(options, buffers, std::move(cases)).run();
  MPI_Finalize();
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  using namespace tempi::bench;
  return main_of("send_driver", [&] { run_all(parse_options(argc, argv), &argc, &argv); });
}
