#include "segment/discovery.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "segment/segment.hpp"

namespace tempi::ipc {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// FNV-1a: the same in every build.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xCBF29CE484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return value;
}

// An abstract name begins with a zero byte.
Address address_of(const std::string& job, int rank) {
  const std::string text = "tempi-mailbox-" + std::to_string(kVersion) + "-" + std::to_string(geteuid()) + "-" +
                           std::to_string(hash(job)) + "-" + std::to_string(rank);
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

int make_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// The process that listens at the address, if it is of this user; 0: none.
pid_t listener(const Address& address) {
  const int socket = make_socket();
  if (socket < 0) return 0;
  ucred who{};
  socklen_t length = sizeof who;
  const bool is_there = ::connect(socket, address.generic(), address.length) == 0 &&
                        ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0;
  ::close(socket);
  return is_there && who.uid == geteuid() ? who.pid : 0;
}

bool is_segment(const std::string& link) {
  char target[64] = {};
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target - 1);
  const std::string wanted = std::string("/memfd:") + kFileName + " ";
  return length > 0 && std::string(target).compare(0, wanted.size(), wanted) == 0;
}

}  // namespace

int open_endpoint(const std::string& job, int rank) {
  const Address address = address_of(job, rank);
  const int socket = make_socket();
  if (socket < 0) return -1;
  if (::bind(socket, address.generic(), address.length) == 0 && ::listen(socket, SOMAXCONN) == 0) return socket;
  ::close(socket);
  return -1;
}

pid_t find_process(const std::string& job, int rank) { return listener(address_of(job, rank)); }

std::vector<int> find_files(pid_t process) {
  std::vector<int> found;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::opendir(folder.c_str()), ::closedir);
  if (!files) return found;
  while (const dirent* entry = ::readdir(files.get())) {
    const std::string link = folder + "/" + entry->d_name;
    const int file = is_segment(link) ? ::open(link.c_str(), O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) found.push_back(file);
  }
  return found;
}

}  // namespace tempi::ipc
