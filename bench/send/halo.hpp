// 26 messages of 2 KiB each way between two ranks, as a 3-D halo exchange has them: all Irecvs, all Isends, one
// Waitall.
#pragma once

#include <array>

#include "send/strided.hpp"

namespace tempi::bench {

constexpr int kNeighbours = 26;
constexpr std::int64_t kHaloBytes = 2048;
constexpr std::int64_t kHaloStride = 512;

// Messages lie one after the other, `step` bytes apart; the received ones behind those sent.
class Halo {
 public:
  Halo(const Pair& pair, char* buffer, const Message& message, std::int64_t step)
      : pair_(pair), buffer_(buffer), message_(message), step_(step) {}

  char* received(int i) const { return buffer_ + (kNeighbours + i) * step_; }

  void exchange() {
    for (int i = 0; i < kNeighbours; ++i)
      MPI_Irecv(received(i), message_.count, message_.type, pair_.peer(), i, MPI_COMM_WORLD, &requests_[i]);
    for (int i = 0; i < kNeighbours; ++i)
      MPI_Isend(buffer_ + i * step_, message_.count, message_.type, pair_.peer(), i, MPI_COMM_WORLD,
                &requests_[kNeighbours + i]);
    MPI_Waitall(2 * kNeighbours, requests_.data(), MPI_STATUSES_IGNORE);
  }

  Sample time(double max_seconds) {
    MPI_Barrier(MPI_COMM_WORLD);
    return pair_.rounds([this] { exchange(); }, max_seconds);
  }

 private:
  const Pair& pair_;
  char* buffer_;
  Message message_;
  std::int64_t step_;
  std::array<MPI_Request, 2 * kNeighbours> requests_{};
};

inline Case halo_case(std::int64_t block) {
  Case c;
  c.id = "halo-b" + std::to_string(block), c.kind = "vector", c.element = block % 8 == 0 ? "double" : "byte";
  c.n_blocks = kHaloBytes / block, c.block = block, c.stride = kHaloStride;
  return c;
}

inline std::int64_t halo_step_bytes(std::int64_t block) { return kHaloBytes / block * kHaloStride; }
inline std::int64_t halo_buffer_bytes(std::int64_t block) { return 2 * kNeighbours * halo_step_bytes(block); }

// Sent and received bytes differ between the ranks, so each message shows whether it has come.
inline bool halo_is_right(const Case& c, const Pair& pair, Halo& halo, char* buffer, const Memory& memory) {
  const std::array<Pattern, 2> patterns{Pattern(17), Pattern(42)};
  const auto copy = [&](char* dst, const char* src, std::int64_t n) { memory.copy(dst, src, n); };
  const std::int64_t step = halo_step_bytes(c.block), half = kNeighbours * step;
  patterns[pair.rank()].fill(buffer, half, copy);
  patterns[pair.rank()].fill(buffer + half, half, copy);
  memory.fence();
  halo.exchange();
  Case all = c;  // the messages' blocks follow one another at the same stride
  all.n_blocks *= kNeighbours;
  return pair.both(blocks_hold(all, 0, patterns[pair.peer()], patterns[pair.rank()], buffer + half, half, memory));
}

inline void time_halo(const Pair& pair, const Memory& memory, char* buffer, std::int64_t block, double max_seconds) {
  const Case c = halo_case(block);
  Message message = make_message(c, {});
  Halo halo(pair, buffer, message, halo_step_bytes(block));
  const bool right = halo_is_right(c, pair, halo, buffer, memory);
  const Sample sample = halo.time(max_seconds);
  if (pair.leads()) print_row(c.id, "exchange", kHaloBytes, sample, right, "26 strided messages each way");
  MPI_Type_free(&message.type);
}

inline void time_contiguous_halo(const Pair& pair, char* buffer, double max_seconds) {
  Halo halo(pair, buffer, {MPI_BYTE, static_cast<int>(kHaloBytes)}, kHaloBytes);
  const Sample sample = halo.time(max_seconds);
  if (pair.leads())
    print_row("halo-contiguous", "exchange", kHaloBytes, sample, true, "26 contiguous host messages each way");
}

// Exactly `n` exchanges: a shim's counts divided by `n` are those of one exchange.
inline void count_halo(const Pair& pair, char* buffer, std::int64_t block, int n) {
  Message message = make_message(halo_case(block), {});
  Halo halo(pair, buffer, message, halo_step_bytes(block));
  for (int i = 0; i < n; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    halo.exchange();
  }
  MPI_Type_free(&message.type);
}

}  // namespace tempi::bench
