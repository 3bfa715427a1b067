#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "engines/login/login.h"

namespace toprun::engines {

// The program and options to use instead of `ssh`, separated by blanks.
inline constexpr const char* ssh_program_variable = "TOPRUN_SSH";

inline constexpr int ssh_connect_limit_s = 8;  // a dead host must be reported within 10 s

// `ssh … -- LOGIN LINE`: never asks a question; the user's configuration decides on host keys.
std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line);

// The command line for a host's shell. Any shell can pass its script, login_script(), to a POSIX
// sh.
std::string ssh_line(const Binary& binary);

// Why a login failed, from ssh's stderr. The text omits the host's name if possible, so that one
// message can cover all hosts with the same problem.
LoginTrouble ssh_trouble(std::string_view said);

}  // namespace toprun::engines
