// Tries every variant of a kernel at every launch shape, and measures the fastest ones again.
#pragma once

#include <cuda_runtime.h>
#include <functional>
#include <limits>

#include "common/timing.hpp"

namespace tempi::bench {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "limit: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

struct Launch {
  unsigned blocks, threads;
};

struct Candidate {
  std::string name;
  std::function<void(cudaStream_t)> run;
};

struct Best {
  Sample sample;
  const Candidate* candidate = nullptr;
};

class Search {
 public:
  Search() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  }

  // One tile a block, and grids of a few blocks a multiprocessor that walk over the tiles.
  std::vector<Launch> launches(std::int64_t work, std::int64_t work_per_thread) const {
    std::vector<Launch> out;
    for (unsigned threads : {128u, 256u, 512u}) {
      const std::int64_t tile = threads * work_per_thread, tiles = (work + tile - 1) / tile;
      out.push_back({static_cast<unsigned>(tiles), threads});
      for (std::int64_t waves : {4, 8, 16})
        if (waves * multiprocessors_ < tiles) out.push_back({static_cast<unsigned>(waves * multiprocessors_), threads});
    }
    return out;
  }

  Best best_of(const std::vector<Candidate>& candidates, double max_seconds) const {
    std::vector<std::pair<double, const Candidate*>> ranked;
    for (const Candidate& candidate : candidates) ranked.push_back({screen(candidate), &candidate});
    std::sort(ranked.begin(), ranked.end());
    Best best;
    best.sample.median_us = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) {
      const Sample sample = time(*ranked[i].second, max_seconds);
      if (sample.median_us < best.sample.median_us) best = {sample, ranked[i].second};
    }
    return best;
  }

  Sample time(const Candidate& candidate, double max_seconds) const {
    return measure([&] { run(candidate); }, [] {}, max_seconds);
  }

  void run(const Candidate& candidate) const {
    candidate.run(stream_);
    check(cudaGetLastError(), candidate.name.c_str());
    check(cudaStreamSynchronize(stream_), candidate.name.c_str());
  }

 private:
  double screen(const Candidate& candidate) const {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 4; ++i) {
      const auto start = Clock::now();
      run(candidate);
      const double us = us_since(start);
      if (i > 0) least = std::min(least, us);
      if (i == 1 && us > 5000) break;
    }
    return least;
  }

  cudaStream_t stream_ = nullptr;
  int multiprocessors_ = 0;
};

inline std::string launch_name(int word_bytes, int unroll, const Launch& launch) {
  return "word " + std::to_string(word_bytes) + " unroll " + std::to_string(unroll) + " grid " +
         std::to_string(launch.blocks) + " x " + std::to_string(launch.threads);
}

}  // namespace tempi::bench
