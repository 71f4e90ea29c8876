// The way from a job and a rank to the mailbox of that process.
#pragma once

#include <string>

namespace tempi::mailbox {

inline constexpr const char* kFileName = "tempi-mailbox";

// The socket by which this process is found; -1: another process has the name, or there are no abstract sockets.
int open_door(const std::string& job, int rank);

// The mailbox file of the process behind a door; -1: there is none that this user may open.
int find_file(const std::string& job, int rank);

}  // namespace tempi::mailbox
