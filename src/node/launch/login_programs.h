#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "engines/login/login.h"

namespace toprun::launch {

// A program that hosts can get: this process's own, or one for another kind of machine.
struct LoginProgram {
  engines::Binary binary;
  std::string path;
};

// This process's own program first. A program for another kind of machine is a file
// `toprun-MACHINE` in the same folder, as toprun-aarch64. Without that file, hosts of that kind
// cannot take part. Error: toprun's own program cannot be read, or has no build id.
Result<std::vector<LoginProgram>> login_programs();

// What to print about a host for whose kind of machine there is no program.
engines::LoginTrouble no_program_for(std::string_view machine);

}  // namespace toprun::launch
