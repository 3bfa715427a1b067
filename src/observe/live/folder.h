#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

// Where the jobs of this user that run on this host can be asked: a socket for each root agent.
namespace toprun::live {

// "PID.sock"; "PID-2.sock" if another job has that name: containers that share the folder have
// process ids of their own.
inline constexpr int most_of_one_pid = 16;

struct Socket {
  pid_t pid = 0;     // of the root agent, as itself sees it
  std::string name;  // "17", "17-2"
  std::filesystem::path path;
};

// Only this user may use it: below $XDG_RUNTIME_DIR or /run/user/UID if that is there, else below
// /tmp. It is made if it is not there.
Result<std::filesystem::path> socket_folder(const Environment& environment);

std::filesystem::path socket_in(const std::filesystem::path& folder, pid_t pid, int number);

// The sockets in these folders, whether a job listens there or not.
std::vector<Socket> sockets(const Environment& environment);

// Removes it if its job was killed, so that nothing listens there. False: it is there still.
bool remove_if_dead(const std::filesystem::path& socket);

}  // namespace toprun::live
