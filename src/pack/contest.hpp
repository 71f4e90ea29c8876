// The faster packer of host memory: the host packer of TEMPI or the packer of the library. TEMPI measures the program's
// own calls. The first calls with a structure use the two packers in turn, and the smallest times decide. TEMPI makes
// no call only to measure its time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace tempi::pack {

enum class Packer : std::uint8_t { undecided, ours, librarys };

// The contest of one structure, direction and class of counts. Threads may share it: a lost sample does no harm.
class Contest {
 public:
  // The packer of the next call; once it is decided, always the winner.
  Packer next() noexcept {
    const Packer winner = winner_.load(std::memory_order_relaxed);
    if (winner != Packer::undecided) return winner;
    return turns_.fetch_add(1, std::memory_order_relaxed) % 2 == 0 ? Packer::ours : Packer::librarys;
  }
  bool is_open() const noexcept { return winner_.load(std::memory_order_relaxed) == Packer::undecided; }

  void record(Packer packer, std::int64_t nanoseconds) noexcept;

 private:
  struct Score {
    std::atomic<std::uint32_t> calls{0};
    std::atomic<std::int64_t> total_ns{0}, least_ns{INT64_MAX};
    bool has_enough() const noexcept;
  };

  std::atomic<Packer> winner_{Packer::undecided};
  std::atomic<std::uint32_t> turns_{0};
  Score ours_, librarys_;
};

// One call of a contest. It is timed only if the contest is open.
class Round {
 public:
  Round(Contest& contest, Packer packer) noexcept
      : contest_(contest), packer_(packer), is_timed_(contest.is_open()), begin_(is_timed_ ? Clock::now() : Time{}) {}
  // A failed call does not count.
  void finish(bool has_succeeded) noexcept {
    if (!is_timed_ || !has_succeeded) return;
    contest_.record(packer_, std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  Contest& contest_;
  Packer packer_;
  bool is_timed_;
  Time begin_;
};

// The contests of one direction of a structure: one element, a few, many.
class Contests {
 public:
  Contest& of_count(std::int64_t count) noexcept { return by_count_[count <= 1 ? 0 : count <= kFew ? 1 : 2]; }

 private:
  static constexpr std::int64_t kFew = 64;
  std::array<Contest, 3> by_count_;
};

}  // namespace tempi::pack
