#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/shim_link.h"
#include "base/environment.h"
#include "base/error.h"
#include "plan/job.h"

namespace toprun::node {

// What the ranks of this node find where they run: on the host itself, or in its container.
struct Workplace {
  Environment environment;           // complete but for what each rank gets of its own
  std::vector<std::string> program;  // argv
  std::string program_reason;        // why this Python
};

Workplace on_the_host(const plan::Job& job);

// Goes to `folder` in the container and looks about. Errors name what is not there: a script, a
// program, a virtual environment or a Python; a path of the host among the script's arguments that
// is not seen inside, with the --bind that would show it.
Result<Workplace> in_the_container(const plan::Job& job, const std::string& folder,
                                   agent::ShimLink& shim);

// The paths among the words of a program's command line: "/data", "./out", "--data=/data",
// "../data". Words without a slash are none.
std::vector<std::string> paths_among(std::span<const std::string> words);

}  // namespace toprun::node
