// How a process finds the shared segment of another process by its job and rank.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace tempi::ipc {

inline constexpr const char* kFileName = "tempi-mailbox";

// The socket by which this process is found; -1: another process has the name, or there are no abstract sockets.
int open_endpoint(const std::string& job, int rank);

// The process behind the socket of a rank; 0: there is none, or it is another user's.
pid_t find_process(const std::string& job, int rank);
// Opens the files of shared segments that a process has open now: its own, and perhaps those of other processes,
// which it opens for a moment while it searches for their shared segments. The caller must close them. None: this user
// may not open the files of the process.
std::vector<int> find_files(pid_t process);

}  // namespace tempi::ipc
