#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

// Where the jobs of this user that run on this host can be asked: a socket for each root agent.
namespace toprun::live {

struct Socket {
  pid_t pid = 0;  // of the root agent
  std::filesystem::path path;
};

// The path for a new socket of this process, in a folder that only this user may use: below
// $XDG_RUNTIME_DIR or /run/user/UID if that is there, else below /tmp.
Result<std::filesystem::path> new_socket(const Environment& environment);

// The sockets in these folders, whether somebody listens there or not.
std::vector<Socket> sockets(const Environment& environment);

}  // namespace toprun::live
