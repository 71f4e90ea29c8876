// The way from a job and a rank to the mailbox of that process.
#pragma once

#include <string>
#include <vector>

namespace tempi::mailbox {

inline constexpr const char* kFileName = "tempi-mailbox";

// The socket by which this process is found; -1: another process has the name, or there are no abstract sockets.
int open_door(const std::string& job, int rank);

// Mailbox files that the process behind a door holds open now, for the caller to close: its own, and perhaps some of
// others that it is looking into. None: there is no such process, or this user may not open its files.
std::vector<int> find_files(const std::string& job, int rank);

}  // namespace tempi::mailbox
