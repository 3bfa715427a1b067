#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/login/login.h"

namespace toprun::engines {

// A login into a pod: the engine's command that executes the words behind it (Node::exec), and the
// script that finds or fetches toprun there.
std::vector<std::string> exec_login(const std::vector<std::string>& exec, const Binary& binary);

// Why a login into a pod failed, from what kubectl or runai wrote to stderr.
LoginTrouble exec_trouble(std::string_view said);

// What was said without kubectl's line about the exit code of what it has executed.
std::string without_exec_end(std::string_view said);

}  // namespace toprun::engines
