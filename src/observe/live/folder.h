#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

// The folder with the sockets of this user's jobs on this host, one socket per root agent.
namespace toprun::live {

// A socket's name is "PID.sock", or "PID-2.sock" if another job has the first name. Two jobs can
// have the same PID if containers with separate PID namespaces share the folder.
inline constexpr int most_of_one_pid = 16;

struct Socket {
  pid_t pid = 0;     // of the root agent, in its own PID namespace
  std::string name;  // "17", "17-2"
  std::filesystem::path path;
};

// Returns the folder, which only this user can access. The folder is below $XDG_RUNTIME_DIR or
// /run/user/UID if one of these exists, otherwise below /tmp. The folder is created if necessary.
Result<std::filesystem::path> socket_folder(const Environment& environment);

std::filesystem::path socket_in(const std::filesystem::path& folder, pid_t pid, int number);

// Returns the sockets in all folders that this user's jobs may use, including those of killed jobs.
std::vector<Socket> sockets(const Environment& environment);

// Removes the socket if its job was killed, so that no process listens on it. Returns false if the
// socket still exists.
bool remove_if_dead(const std::filesystem::path& socket);

}  // namespace toprun::live
