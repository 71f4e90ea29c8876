// Two ranks and the messages between them: rank 0 measures and decides, rank 1 follows. One rank may be alone.
#pragma once

#include <algorithm>
#include <unistd.h>

#include "common/mpi_types.hpp"
#include "common/timing.hpp"

namespace tempi::bench {

constexpr double kLongUs = 100e3;     // rounds above this need not be repeated five times
constexpr double kLongWarmUs = 20e3;  // nor those above this be warmed up three times

class Pair {
 public:
  Pair() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks_);
  }

  int rank() const { return rank_; }
  bool leads() const { return rank_ == 0; }
  int peer() const { return 1 - rank_; }

  // Rank 0's number, on both.
  std::int64_t agree(std::int64_t number) const {
    MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return number;
  }
  double agree_us(double us) const { return 1e-3 * static_cast<double>(agree(static_cast<std::int64_t>(us * 1e3))); }
  bool both(bool mine) const {
    int all = mine ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
  }

  // Work of rank 0 that the other one's polling should not disturb.
  template <class Work>
  void alone(Work work) const {
    if (leads()) {
      work();
      if (n_ranks_ == 1) return;
      MPI_Send(nullptr, 0, MPI_BYTE, peer(), kDone, MPI_COMM_WORLD);
      return;
    }
    int done = 0;
    for (; !done; usleep(500)) MPI_Iprobe(0, kDone, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, kDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  void send(const char* buffer, const Message& m) const {
    MPI_Send(buffer, m.count, m.type, peer(), kData, MPI_COMM_WORLD);
  }
  void receive(char* buffer, const Message& m) const {
    MPI_Recv(buffer, m.count, m.type, peer(), kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  // One message from rank 0 to rank 1 until an empty answer; the same number on both ranks.
  double one_way_us(char* buffer, const Message& m) const {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = Clock::now();
    if (leads()) send(buffer, m), receive(nullptr, {MPI_BYTE, 0});
    else receive(buffer, m), send(nullptr, {MPI_BYTE, 0});
    return agree_us(us_since(start));
  }

  // Half round trips.
  Sample ping_pong(char* buffer, const Message& m, double max_seconds) const {
    const auto trip = [&] {
      if (leads()) send(buffer, m), receive(buffer, m);
      else receive(buffer, m), send(buffer, m);
    };
    const Sample s = rounds(trip, max_seconds);
    return {s.median_us / 2, s.min_us / 2, s.p90_us / 2, s.repeats};
  }

  // Rounds that need both ranks; their number follows from rank 0's last round of warming up.
  template <class Round>
  Sample rounds(Round round, double max_seconds) const {
    double us = 0;
    const auto no_fence = [] {};
    for (int i = 0; i < 3 && us < kLongWarmUs; ++i) us = agree_us(time_batch(round, no_fence, 1));
    const int batch = batch_size(us);
    const double least = us < kLongUs ? 5 : 1, most = std::max<double>(least, wanted_repeats(us));
    const double fitting = max_seconds * 1e6 / (std::max(us, 0.01) * batch);
    const auto repeats = static_cast<std::int64_t>(std::clamp(fitting, least, most));
    std::vector<double> times;
    const auto start = Clock::now();
    for (std::int64_t i = 1; i <= repeats; ++i) {
      times.push_back(time_batch(round, no_fence, batch));
      // A busy machine may make rounds take much longer than those of the warm-up did.
      constexpr std::int64_t now_and_then = 32;
      if (i % now_and_then == 0 && agree(us_since(start) > max_seconds * 1e6 ? 1 : 0) == 1) break;
    }
    return summarise(times);
  }

 private:
  enum Tag { kData = 1, kDone = 2 };
  int rank_ = 0, n_ranks_ = 0;
};

}  // namespace tempi::bench
