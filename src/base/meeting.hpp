// Processes of one job on one node add up numbers. The last process that leaves gets the sums. No process waits for the
// others, except for those that leave at the same time: they leave one after the other.
//
// The processes use a file of /dev/shm that only their user may open. Each member locks one byte of the file. The
// system releases this lock when the process ends, so that the others can detect its death without process numbers.
// Processes that do not share /dev/shm (containers) use separate files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.hpp"

namespace tempi {

class Meeting {
 public:
  using Values = std::vector<std::uint64_t>;

  // Joins the processes with this purpose ("report") and name. Null if this is not possible.
  static std::unique_ptr<Meeting> join(const std::string& purpose, const std::string& name) noexcept;
  ~Meeting();  // without leave(): the others count this member as died
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // When the first member joined, by std::chrono::steady_clock.
  std::int64_t began_ns() const { return began_ns_; }

  struct Sums {
    Values values;
    std::uint64_t n_members;  // that have added their numbers
    std::uint64_t n_died;     // that have added no numbers
  };
  // Adds the `n` numbers that own(sums so far) returns. `n` is the same in all members. No
  // other member leaves while own() runs. The last member removes the file and gets the sums. All
  // other members get nothing. A member that cannot use the file gets its own numbers as the sums.
  std::optional<Sums> leave(std::size_t n, FunctionRef<Values(const Values&)> own) noexcept;

 private:
  Meeting(std::string path, int file) : path_(std::move(path)), file_(file) {}
  bool enter();
  std::optional<Sums> add(std::size_t n, FunctionRef<Values(const Values&)> own);

  std::string path_;
  int file_;
  std::int64_t member_ = 0, began_ns_ = 0;
};

}  // namespace tempi
