// Processes of one job on one node add up numbers; the last one to leave gets the sums. No process waits.
//
// They meet in a file of /dev/shm that only their user may open. A member holds a lock on a byte of its own, which the
// system takes away when it dies: the living are told from the dead without their process numbers. Processes that do
// not see the same /dev/shm (containers) meet apart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tempi {

class Meeting {
 public:
  // Joins the meeting of this name. Null where there can be none.
  static std::unique_ptr<Meeting> join(const std::string& name) noexcept;
  ~Meeting();  // dies, to the others
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  struct Sums {
    std::vector<std::uint64_t> values;
    std::uint64_t n_members;  // that have added theirs
    std::uint64_t n_died;     // before they could
  };
  // Adds `own`, of the same length in all members. Sums: nobody else is there any more, and the file is gone.
  std::optional<Sums> leave(const std::vector<std::uint64_t>& own) noexcept;

 private:
  Meeting(std::string path, int file) : path_(std::move(path)), file_(file) {}
  bool enter();

  std::string path_;
  int file_;
  std::int64_t member_ = 0;
};

}  // namespace tempi
