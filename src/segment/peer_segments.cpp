#include <bit>
#include <fstream>
#include <map>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "segment/discovery.hpp"
#include "segment/own_segment.hpp"

namespace tempi::ipc {
namespace {

bool is_of_this_kind(int file) {
  struct stat found{};
  return ::fstat(file, &found) == 0 && found.st_uid == geteuid() && found.st_size == sizeof(Segment);
}

// Null: it is not this rank's.
Segment* map(int file, int rank) {
  void* const memory = is_of_this_kind(file)
                           ? ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  if (memory == MAP_FAILED) return nullptr;
  auto* const segment = static_cast<Segment*>(memory);
  const bool is_open = segment->is_open.load(std::memory_order_acquire) != 0;
  if (is_open && segment->version == kVersion && segment->bytes == sizeof(Segment) && segment->rank == rank)
    return segment;
  ::munmap(memory, sizeof(Segment));
  return nullptr;
}

// A file descriptor that can be read when the process has ended; -1: this system has none.
int open_process([[maybe_unused]] pid_t process) {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
#else
  return -1;
#endif
}

// In /proc: a process that nobody has waited for has ended, too.
bool is_running(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_ends = text.rfind(") ");
  return name_ends != std::string::npos && text.find_first_of("ZX", name_ends) != name_ends + 2;
}

// A rank may publish its shared segment later than others look for it: the search is repeated, less and less often.
struct PeerSegment {
  Segment* segment = nullptr;
  std::uint64_t n_asked = 0;
  pid_t process = 0;
  int process_file = -1;

  bool is_to_be_searched(bool is_published) {
    return segment == nullptr && (std::has_single_bit(++n_asked) || is_published);
  }

  void search(const std::string& job, int rank) {
    process = find_process(job, rank);
    if (process <= 0) return;
    process_file = open_process(process);
    for (const int file : find_files(process)) {
      if (segment == nullptr) segment = map(file, rank);
      ::close(file);
    }
    if (segment == nullptr && process_file >= 0) ::close(std::exchange(process_file, -1));
  }

  bool is_alive() const {
    pollfd ended{process_file, POLLIN, 0};
    const bool is_told = process_file >= 0 && ::poll(&ended, 1, 0) >= 0 && (ended.revents & POLLNVAL) == 0;
    return is_told ? ended.revents == 0 : is_running(process);
  }
};

struct PeerSegments {
  Mutex<Lock::peer_segments> mutex;
  std::map<std::pair<std::string, int>, PeerSegment> known;
};

PeerSegments& peer_segments() {
  static auto& the_peer_segments = *new PeerSegments;
  return the_peer_segments;
}

}  // namespace

Segment* find_peer_segment(const std::string& job, int rank, bool is_published) noexcept try {
  const std::lock_guard lock(peer_segments().mutex);
  PeerSegment& peer_segment = peer_segments().known[{job, rank}];
  if (peer_segment.is_to_be_searched(is_published)) peer_segment.search(job, rank);
  return peer_segment.segment;
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

bool is_alive(const std::string& job, int rank) noexcept try {
  const std::lock_guard lock(peer_segments().mutex);
  const auto found = peer_segments().known.find({job, rank});
  return found != peer_segments().known.end() && found->second.is_alive();
} catch (...) {  // no memory: asked again
  return true;
}

}  // namespace tempi::ipc
