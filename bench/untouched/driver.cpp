// Messages that the shim leaves alone: an ordinary MPI program that sends to itself. The library's own functions are
// called in turn with those that the program reaches; a row's note is the median of the turns' differences, in ns.
// Usage: mpirun -n 1 driver [--gpu]
#include <cstring>
#include <mpi.h>
#include <optional>

#include "common/library.hpp"
#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/timing.hpp"

namespace tempi::bench {
namespace {

constexpr int kBatch = 200, kTurns = 400;

struct Functions {
  decltype(&MPI_Isend) isend = MPI_Isend;
  decltype(&MPI_Recv) recv = MPI_Recv;
  decltype(&MPI_Wait) wait = MPI_Wait;
};

Functions functions_of_library() {
  return {of_library<decltype(&MPI_Isend)>("PMPI_Isend"), of_library<decltype(&MPI_Recv)>("PMPI_Recv"),
          of_library<decltype(&MPI_Wait)>("PMPI_Wait")};
}

#if MPI_VERSION >= 4
struct LargeFunctions {
  decltype(&MPI_Isend_c) isend = MPI_Isend_c;
  decltype(&MPI_Recv_c) recv = MPI_Recv_c;
  decltype(&MPI_Wait) wait = MPI_Wait;
};

LargeFunctions large_functions_of_library() {
  return {of_library<decltype(&MPI_Isend_c)>("PMPI_Isend_c"), of_library<decltype(&MPI_Recv_c)>("PMPI_Recv_c"),
          of_library<decltype(&MPI_Wait)>("PMPI_Wait")};
}
#endif

// One message to this rank: Isend, Recv, Wait.
template <class Set>
struct ToItself {
  Set functions;
  int count;
  MPI_Datatype type;
  char out[4096] = {}, in[4096] = {};

  void operator()() {
    MPI_Request request;
    functions.isend(out, count, type, 0, 0, MPI_COMM_SELF, &request);
    functions.recv(in, count, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    functions.wait(&request, MPI_STATUS_IGNORE);
  }
};

template <class Set>
void compare(const char* name, Set reached, Set librarys, int count, MPI_Datatype type) {
  ToItself<Set> first{reached, count, type}, second{librarys, count, type};
  const auto no_fence = [] {};
  std::vector<double> with, without, added_ns;
  for (int turn = 0; turn < kTurns; ++turn) {
    with.push_back(time_batch(first, no_fence, kBatch));
    without.push_back(time_batch(second, no_fence, kBatch));
    added_ns.push_back(1e3 * (with.back() - without.back()));
  }
  int size = 0;
  MPI_Type_size(type, &size);
  const std::int64_t payload = std::int64_t{count} * size;
  const std::string note = std::to_string(summarise(added_ns).median_us);
  print_row(name, "send", payload, summarise(with), true, note);
  print_row(name + std::string("@library"), "send", payload, summarise(without), true, "");
}

void run() {
  MPI_Datatype vector;
  MPI_Type_vector(16, 1, 4, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);
  print_header();
  compare("8 bytes", Functions{}, functions_of_library(), 8, MPI_BYTE);
  compare("16 doubles of a vector", Functions{}, functions_of_library(), 1, vector);
#if MPI_VERSION >= 4
  if (large_functions_of_library().isend)
    compare("8 bytes with a large count", LargeFunctions{}, large_functions_of_library(), 8, MPI_BYTE);
#endif
  MPI_Type_free(&vector);
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  return tempi::bench::main_of("untouched_driver", [&] {
    std::optional<tempi::bench::Gpu> gpu;
    if (argc > 1 && std::strcmp(argv[1], "--gpu") == 0) gpu.emplace();
    MPI_Init(&argc, &argv);
    tempi::bench::run();
    MPI_Finalize();
  });
}
