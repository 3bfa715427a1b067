#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "engines/login/login.h"

namespace toprun::engines {

// The program and options to use instead of `ssh`, separated by blanks.
inline constexpr const char* ssh_program_variable = "TOPRUN_SSH";

inline constexpr int ssh_connect_limit_s = 8;  // toprun must report a dead host within 10 s

// `ssh … -- LOGIN LINE`: never asks a question; the user's configuration decides on host keys.
std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line);

// The command line for the login shell on a host. Any shell can run this line, which passes
// login_script() to a POSIX sh.
std::string ssh_line(std::span<const Binary> binaries);

// Why a login failed, according to ssh's stderr. If possible, the text does not contain the host's
// name, so that one message can be for all hosts with the same problem.
LoginTrouble ssh_trouble(std::string_view said);

}  // namespace toprun::engines
