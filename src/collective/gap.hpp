// Decides when to vote on the calls of a function. If a vote passes a blocking call to the library, the members hold
// the next votes less often.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tempi::collective {

class Gap {
 public:
  // True: the library handles this call, and no vote is held.
  bool is_between_votes() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  void note_vote(bool is_for_library) {
    length_ = is_for_library ? std::min(2 * length_ + 1, kLongest) : 0;
    left_ = length_;
  }

 private:
  // With the longest gap, the members vote on every 31st call. This number is odd, because programs
  // may alternate between host and GPU memory.
  static constexpr std::uint64_t kLongest = 30;
  std::uint64_t length_ = 0, left_ = 0;
};

}  // namespace tempi::collective
