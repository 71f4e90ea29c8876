// The halo of several 3-D arrays in GPU memory by one MPI_Pack and one MPI_Unpack for each box and array, as libraries
// for halo exchanges call them: queued in a stream with one synchronise at the end, with a synchronise behind each
// call, and without a stream. Every cell is checked. Usage: queued_driver CELLS WIDTH VARIABLES REPEATS
#include <array>

#include "../include/tempi.h"
#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/mpi_types.hpp"
#include "common/timing.hpp"

namespace tempi::bench {
namespace {

using Triple = std::array<int, 3>;

struct Halo {
  int cells, width, variables;
  int edge() const { return cells + 2 * width; }
  std::size_t size() const { return static_cast<std::size_t>(edge()) * edge() * edge(); }
  std::size_t at(const Triple& i) const { return (static_cast<std::size_t>(i[0]) * edge() + i[1]) * edge() + i[2]; }
};

// The own cells next to a neighbour, or the ghost cells that lie there.
struct Box {
  MPI_Datatype own, ghosts;
  int bytes;
};

MPI_Datatype subarray(const Halo& halo, const Triple& sizes, const Triple& starts) {
  const Triple edges{halo.edge(), halo.edge(), halo.edge()};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, edges.data(), sizes.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

Box box_of(const Halo& halo, const Triple& direction) {
  Triple sizes{}, own{}, ghosts{};
  for (std::size_t d = 0; d < 3; ++d) {
    const int to = direction[d];
    sizes[d] = to == 0 ? halo.cells : halo.width;
    own[d] = to > 0 ? halo.cells : halo.width;                                // the last own layers, or the first
    ghosts[d] = to == 0 ? halo.width : to > 0 ? 0 : halo.cells + halo.width;  // what is sent up arrives below
  }
  return {subarray(halo, sizes, own), subarray(halo, sizes, ghosts),
          sizes[0] * sizes[1] * sizes[2] * static_cast<int>(sizeof(double))};
}

std::vector<Box> boxes_of(const Halo& halo) {
  std::vector<Box> boxes;
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z)
        if (x != 0 || y != 0 || z != 0) boxes.push_back(box_of(halo, {x, y, z}));
  return boxes;
}

class Driver {
 public:
  explicit Driver(const Halo& halo) : halo_(halo), boxes_(boxes_of(halo)), memory_("device"), stream_(*memory_.gpu()) {
    std::int64_t packed_bytes = 0;
    for (const Box& box : boxes_) packed_bytes += box.bytes;
    for (int v = 0; v < halo_.variables; ++v) {
      arrays_.push_back(memory_.allocate(static_cast<std::int64_t>(halo_.size() * sizeof(double))));
      packed_.push_back(memory_.allocate(packed_bytes));
    }
  }

  // `after_each`: what follows each call.
  template <class AfterEach>
  void exchange(AfterEach after_each) const {
    for (std::size_t v = 0; v < arrays_.size(); ++v) {
      char* at = packed_[v];
      for (const Box& box : boxes_) {
        int position = 0;
        MPI_Pack(arrays_[v], 1, box.own, at, box.bytes, &position, MPI_COMM_SELF);
        at += box.bytes;
        after_each();
      }
    }
    for (std::size_t v = 0; v < arrays_.size(); ++v) {
      char* at = packed_[v];
      for (const Box& box : boxes_) {
        int position = 0;
        MPI_Unpack(at, box.bytes, &position, arrays_[v], 1, box.ghosts, MPI_COMM_SELF);
        at += box.bytes;
        after_each();
      }
    }
  }

  template <class Run>
  void tell(const char* name, int repeats, const Run& run) {
    fill();
    run();
    const bool is_right = is_exchanged();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      memory_.fence();
      const auto start = Clock::now();
      run();
      times.push_back(us_since(start));
    }
    const Sample sample = summarise(times);
    std::printf("%s,%.1f,%.1f,%d\n", name, sample.median_us, sample.min_us, is_right ? 1 : 0);
    std::fflush(stdout);
  }

  const GpuStream& stream() const { return stream_; }

 private:
  double value(int variable, std::size_t cell) const {
    return static_cast<double>(variable) * static_cast<double>(halo_.size()) + static_cast<double>(cell);
  }

  void fill() {
    std::vector<double> values(halo_.size());
    for (int v = 0; v < halo_.variables; ++v) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(v, i);
      memory_.copy(arrays_[static_cast<std::size_t>(v)], values.data(), bytes_of(values));
    }
    memory_.fence();
  }

  // Each ghost cell has the value of the own cell that is one period away.
  bool is_exchanged() const {
    std::vector<double> values(halo_.size());
    for (int v = 0; v < halo_.variables; ++v) {
      memory_.copy(values.data(), arrays_[static_cast<std::size_t>(v)], bytes_of(values));
      for (int x = 0; x < halo_.edge(); ++x)
        for (int y = 0; y < halo_.edge(); ++y)
          for (int z = 0; z < halo_.edge(); ++z) {
            const Triple source{own(x), own(y), own(z)};
            if (values[halo_.at({x, y, z})] != value(v, halo_.at(source))) return false;
          }
    }
    return true;
  }
  int own(int i) const { return (i - halo_.width + halo_.cells) % halo_.cells + halo_.width; }
  static std::int64_t bytes_of(const std::vector<double>& values) {
    return static_cast<std::int64_t>(values.size() * sizeof(double));
  }

  Halo halo_;
  std::vector<Box> boxes_;
  Memory memory_;
  GpuStream stream_;
  std::vector<char*> arrays_{}, packed_{};
};

void run_all(int argc, char** argv) {
  if (argc != 5) throw std::runtime_error("CELLS WIDTH VARIABLES REPEATS");
  const Halo halo{std::stoi(argv[1]), std::stoi(argv[2]), std::stoi(argv[3])};
  const int repeats = std::stoi(argv[4]);
  const Gpu gpu;  // CUDA-aware libraries look for a context in MPI_Init
  MPI_Init(&argc, &argv);
  Driver driver(halo);
  const auto synchronise = [&] { driver.stream().synchronise(); };
  driver.tell("no stream", repeats, [&] { driver.exchange([] {}); });
  const auto handle = static_cast<cudaStream_t>(driver.stream().handle());
  if (TEMPI_Set_stream(handle) != MPI_SUCCESS) throw std::runtime_error("TEMPI is not in the way of the calls");
  driver.tell("a synchronise behind each call", repeats, [&] { driver.exchange(synchronise); });
  driver.tell("one synchronise", repeats, [&] {
    driver.exchange([] {});
    synchronise();
  });
  MPI_Finalize();
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  return tempi::bench::main_of("queued_driver", [&] { tempi::bench::run_all(argc, argv); });
}
