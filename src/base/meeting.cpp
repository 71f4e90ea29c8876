#include "base/meeting.hpp"

#include <cerrno>
#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi {
namespace {

constexpr const char* kFolder = "/dev/shm/";
constexpr off_t kMutex = off_t{1} << 40, kMembers = kMutex + 1;  // bytes that are locked, never written

struct Head {
  std::uint64_t n_joined, n_left;
  std::int64_t began_ns;
};

std::string prefix(const std::string& purpose) { return "tempi-" + purpose + "-" + std::to_string(geteuid()) + "-"; }

std::int64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// Open file description locks belong to this opening of the file, not to a thread. False: another process holds it.
bool lock(int file, short type, off_t begin, off_t bytes, int command) {
  struct flock wanted{};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = begin;
  wanted.l_len = bytes;
  int result = 0;
  do result = fcntl(file, command, &wanted);
  while (result != 0 && errno == EINTR);
  return command == F_OFD_GETLK ? result == 0 && wanted.l_type == F_UNLCK : result == 0;
}

bool is_locked_by_others(int file, off_t begin, off_t bytes) { return !lock(file, F_WRLCK, begin, bytes, F_OFD_GETLK); }

bool read_at(int file, void* data, std::size_t bytes, off_t at) {
  return pread(file, data, bytes, at) == static_cast<ssize_t>(bytes);
}

bool write_at(int file, const void* data, std::size_t bytes, off_t at) {
  return pwrite(file, data, bytes, at) == static_cast<ssize_t>(bytes);
}

// A file of this user's that nobody else may open. Others may have made one of that name.
int open_own(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
  struct stat found{};
  if (file < 0) return -1;
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 077) == 0) {
    return file;
  }
  ::close(file);
  return -1;
}

bool is_unlinked(int file) {
  struct stat found{};
  return fstat(file, &found) != 0 || found.st_nlink == 0;
}

// Files of meetings whose last members died before they could leave.
void remove_abandoned(const std::string& own) {
  DIR* const folder = opendir(kFolder);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.compare(0, own.size(), own) != 0) continue;
    const int file = open_own(kFolder + name, 0);
    if (file < 0) continue;
    // Locked until it is closed: a process that joins in between finds it unlinked.
    if (lock(file, F_WRLCK, 0, 0, F_OFD_SETLK)) ::unlink((kFolder + name).c_str());
    ::close(file);
  }
  closedir(folder);
}

}  // namespace

std::unique_ptr<Meeting> Meeting::join(const std::string& purpose, const std::string& name) noexcept try {
  std::string path = kFolder + prefix(purpose) + name;
  for (char* at = path.data() + std::string(kFolder).size(); *at != '\0'; ++at) {
    if (*at == '/') *at = '_';
  }
  remove_abandoned(prefix(purpose));
  while (true) {
    const int file = open_own(path, O_CREAT);
    if (file < 0) return nullptr;
    std::unique_ptr<Meeting> meeting(new Meeting(path, file));
    if (!lock(file, F_WRLCK, kMutex, 1, F_OFD_SETLKW)) return nullptr;
    if (is_unlinked(file)) continue;  // the last one left in between
    if (!meeting->enter()) return nullptr;
    return meeting;
  }
} catch (...) {
  warn_fallback("the report and the timeline are of this rank alone", caught_error().what());
  return nullptr;
}

Meeting::~Meeting() { ::close(file_); }

// The caller holds the mutex, which this function unlocks.
bool Meeting::enter() {
  Head head{};
  read_at(file_, &head, sizeof head, 0);  // nothing yet for the first
  if (head.n_joined == 0) head.began_ns = now_ns();
  began_ns_ = head.began_ns;
  member_ = static_cast<std::int64_t>(head.n_joined++);
  return write_at(file_, &head, sizeof head, 0) && lock(file_, F_WRLCK, kMembers + member_, 1, F_OFD_SETLK) &&
         lock(file_, F_UNLCK, kMutex, 1, F_OFD_SETLK);
}

std::optional<Meeting::Sums> Meeting::leave(std::size_t n, FunctionRef<Values(const Values&)> own) noexcept try {
  return add(n, own);
} catch (...) {
  warn_fallback("the report or the timeline lacks this rank", caught_error().what());
  return {};
}

std::optional<Meeting::Sums> Meeting::add(std::size_t n, FunctionRef<Values(const Values&)> own) {
  Values values(n);
  const auto bytes = static_cast<std::size_t>(n * sizeof(std::uint64_t));
  Head head{};
  const bool is_open = lock(file_, F_WRLCK, kMutex, 1, F_OFD_SETLKW) && read_at(file_, &head, sizeof head, 0) &&
                       (head.n_left == 0 || read_at(file_, values.data(), bytes, sizeof head));
  if (!is_open) return Sums{own(Values(n)), 1, 0};
  const Values mine = own(values);
  for (std::size_t i = 0; i < n; ++i) values[i] += mine[i];
  ++head.n_left;
  if (!write_at(file_, values.data(), bytes, sizeof head) || !write_at(file_, &head, sizeof head, 0)) {
    return Sums{mine, 1, 0};
  }
  const bool is_last = !is_locked_by_others(file_, kMembers, static_cast<off_t>(head.n_joined));
  if (is_last) ::unlink(path_.c_str());
  lock(file_, F_UNLCK, kMembers + member_, 1, F_OFD_SETLK);
  lock(file_, F_UNLCK, kMutex, 1, F_OFD_SETLK);
  if (!is_last) return {};
  return Sums{std::move(values), head.n_left, head.n_joined - head.n_left};
}

}  // namespace tempi
