#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "engines/login/login.h"

namespace toprun::engines {

// The program and options to use instead of `ssh`, separated by blanks.
inline constexpr const char* ssh_program_variable = "TOPRUN_SSH";

inline constexpr int ssh_connect_limit_s = 8;  // a dead host is to be named within 10 s

// `ssh … -- LOGIN LINE`: no question is ever asked, host keys stay as the user's configuration has
// them.
std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line);

// What a host's shell is to run: login_script(), handed on to a POSIX sh by whatever shell it is.
std::string ssh_line(const Binary& binary);

// Why a login failed, from what ssh wrote to stderr; without the host's name where that is
// possible, so that hosts with the same trouble can be named together.
LoginTrouble ssh_trouble(std::string_view said);

}  // namespace toprun::engines
