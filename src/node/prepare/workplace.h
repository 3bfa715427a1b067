#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "node/plan/job.h"
#include "node/worker/shim_link.h"
#include "node/worker/spawn/view.h"

namespace toprun::prepare {

// The place where this node's ranks run: the host itself, or its container.
struct Workplace {
  Environment environment;                       // without the variables of each rank
  std::vector<std::string> program;              // argv
  std::string program_reason;                    // why this Python
  std::shared_ptr<const spawn::View> view = {};  // of the host's files; null: this process's
};

Workplace on_the_host(const plan::Job& job);

// Uses the copy of a virtual environment at `to` instead of the one at `from`; pure.
void move(Workplace& place, const std::string& from, const std::string& to);

// Changes to `folder` in the container and checks what the ranks need. Errors name what is missing:
// a script, a program, a virtual environment or a Python; or a host path among the script's
// arguments that does not exist inside, with the --bind that would add it.
Result<Workplace> in_the_container(const plan::Job& job, const std::string& folder,
                                   worker::ShimLink& shim);

// The paths among the words of a program's command line: "/data", "./out", "--data=/data",
// "../data". Words without a slash are not paths.
std::vector<std::string> paths_among(std::span<const std::string> words);

}  // namespace toprun::prepare
