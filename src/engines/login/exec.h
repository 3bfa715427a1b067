#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/login/login.h"

namespace toprun::engines {

// The command for a login into a pod. The command consists of the engine's command (Node::exec) and
// of the script that finds or downloads toprun in the pod.
std::vector<std::string> exec_login(const std::vector<std::string>& exec,
                                    std::span<const Binary> binaries);

// Why a login into a pod failed, according to the stderr of kubectl or runai.
LoginTrouble exec_trouble(std::string_view said);

// The text without kubectl's line about the exit code of the executed command.
std::string without_exec_end(std::string_view said);

}  // namespace toprun::engines
