// A message of rank 0 to rank 1 in partitions (MPI-4.1, chapter 4), compared with one persistent message of the same
// buffer. Both processes read the same clock, so that each sample is the time from the sender's call to the receiver's.
//   one message        from MPI_Start of the sender until MPI_Wait of the receiver returns
//   partitions         from the first MPI_Pready until MPI_Wait of the receiver returns
//   first partition    from the first MPI_Pready until MPI_Parrived is true; the sender then makes no MPI call
// The receiver has started each message before. Every byte is checked.
// Usage: partitioned_driver KIND PARTITIONS RECEIVED_PARTITIONS PARTITION_BYTES BLOCK_BYTES REPEATS
#include <array>
#include <mpi.h>

#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/timing.hpp"

namespace tempi::bench {
namespace {

constexpr int kTag = 7;
constexpr double kComputesUs = 300;  // of a sender that makes no MPI call

struct Setting {
  std::string kind;
  int sent, received;
  std::int64_t partition_bytes, block_bytes;
  int repeats;

  std::int64_t bytes() const { return sent * partition_bytes; }
  bool is_strided() const { return block_bytes > 0; }
  std::int64_t span() const { return is_strided() ? 2 * bytes() : bytes(); }
  // Of the element: a block with a gap of its size, or a byte.
  std::int64_t element_bytes() const { return is_strided() ? block_bytes : 1; }
  int elements_of(int partitions) const { return static_cast<int>(bytes() / element_bytes() / partitions); }
  bool is_sound() const {
    return sent > 0 && received > 0 && repeats > 0 && bytes() % (element_bytes() * sent) == 0 &&
           bytes() % (element_bytes() * received) == 0;
  }
};

double now_us() { return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(); }

MPI_Datatype element_of(const Setting& setting) {
  if (!setting.is_strided()) return MPI_BYTE;
  MPI_Datatype block, element;
  MPI_Type_contiguous(static_cast<int>(setting.block_bytes), MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 2 * setting.block_bytes, &element);
  MPI_Type_commit(&element);
  MPI_Type_free(&block);
  return element;
}

class Driver {
 public:
  Driver(const Setting& setting, int rank, int gpu)
      : setting_(setting),
        rank_(rank),
        memory_(setting.kind, gpu),
        buffer_(memory_.allocate(setting.span())),
        type_(element_of(setting)) {}

  void one_message() {
    MPI_Request request;
    const int count = setting_.elements_of(1);
    if (sends()) MPI_Send_init(buffer_, count, type_, 1, kTag, MPI_COMM_WORLD, &request);
    else MPI_Recv_init(buffer_, count, type_, 0, kTag, MPI_COMM_WORLD, &request);
    tell("one message", [&] {
      if (!sends()) MPI_Start(&request);
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = now_us();
      if (sends()) MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return sends() ? begin : now_us();
    });
    MPI_Request_free(&request);
  }

  void partitions() {
    MPI_Request request;
    const int n = sends() ? setting_.sent : setting_.received;
    const auto count = static_cast<MPI_Count>(setting_.elements_of(n));
    if (sends()) MPI_Psend_init(buffer_, n, count, type_, 1, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Precv_init(buffer_, n, count, type_, 0, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    tell("partitions", [&] {
      start(request);
      const double begin = now_us();
      for (int i = 0; sends() && i < n; ++i) MPI_Pready(i, request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return sends() ? begin : now_us();
    });
    tell("first partition", [&] {
      start(request);
      const double begin = now_us();
      const double end = sends() ? begin : arrival_of_first(request);
      if (sends()) {
        MPI_Pready(0, request);
        while (now_us() < begin + kComputesUs) continue;
        for (int i = 1; i < n; ++i) MPI_Pready(i, request);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return end;
    });
    MPI_Request_free(&request);
  }

 private:
  bool sends() const { return rank_ == 0; }

  static void start(MPI_Request& request) {
    MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  static double arrival_of_first(MPI_Request& request) {
    int has_arrived = 0;
    while (!has_arrived) MPI_Parrived(request, 0, &has_arrived);
    return now_us();
  }

  // `run` returns the time of the sender's call, or that of the arrival.
  template <class Run>
  void tell(const char* way, const Run& run) {
    fill();
    run();
    const bool is_right = sends() || is_received();
    std::vector<double> times;
    for (int i = 0; i < setting_.repeats; ++i) {
      const double own = run();
      double sent = own;
      MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      times.push_back(own - sent);
    }
    if (sends()) return;
    const Sample sample = summarise(times);
    std::printf("%s,%.2f,%.2f,%.2f,%d\n", way, sample.median_us, sample.min_us, sample.p90_us, is_right ? 1 : 0);
    std::fflush(stdout);
  }

  static char value(std::int64_t at) { return static_cast<char>(at * 31 + (at >> 11)); }

  void fill() {
    std::vector<char> values(static_cast<std::size_t>(setting_.span()));
    for (std::int64_t i = 0; sends() && i < setting_.span(); ++i) values[static_cast<std::size_t>(i)] = value(i);
    memory_.copy(buffer_, values.data(), setting_.span());
    memory_.fence();
  }

  // The gaps stay zero.
  bool is_received() const {
    std::vector<char> values(static_cast<std::size_t>(setting_.span()));
    memory_.copy(values.data(), buffer_, setting_.span());
    for (std::int64_t i = 0; i < setting_.span(); ++i) {
      const bool is_gap = setting_.is_strided() && i / setting_.block_bytes % 2 == 1;
      if (values[static_cast<std::size_t>(i)] != (is_gap ? 0 : value(i))) return false;
    }
    return true;
  }

  const Setting setting_;
  const int rank_;
  Memory memory_;
  char* const buffer_;
  MPI_Datatype type_;
};

void run_all(int argc, char** argv) {
  if (argc != 7) throw std::runtime_error("KIND PARTITIONS RECEIVED_PARTITIONS PARTITION_BYTES BLOCK_BYTES REPEATS");
  const Setting setting{
      argv[1], std::stoi(argv[2]), std::stoi(argv[3]), std::stoll(argv[4]), std::stoll(argv[5]), std::stoi(argv[6])};
  if (!setting.is_sound()) throw std::runtime_error("the partitions do not divide the message");
  const char* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const char* const of_mpich = std::getenv("MPI_LOCALRANKID");
  const int gpu = std::atoi(local != nullptr ? local : of_mpich != nullptr ? of_mpich : "0");
  if (setting.kind != "host") static const Gpu context(gpu);  // CUDA-aware libraries look for one in MPI_Init
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) throw std::runtime_error("two ranks");
  Driver driver(setting, rank, gpu);
  driver.one_message();
  driver.partitions();
  MPI_Finalize();
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  return tempi::bench::main_of("partitioned_driver", [&] { tempi::bench::run_all(argc, argv); });
}
