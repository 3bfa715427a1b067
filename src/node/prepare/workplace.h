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

// Where this node's ranks run: directly on the host, or in the node's container.
struct Workplace {
  Environment environment;           // without the variables of each rank
  std::vector<std::string> program;  // the command line
  std::string program_reason;        // why this Python was chosen
  // How the ranks see the host's files; null: as this process sees them.
  std::shared_ptr<const spawn::View> view = {};
};

// Returns the workplace of ranks that run on the host itself.
Workplace on_the_host(const plan::Job& job);

// Changes `place` so that the copy at `to` replaces the virtual environment at `from`; performs no
// I/O.
void move(Workplace& place, const std::string& from, const std::string& to);

// Makes `folder` the working folder in the container, checks what the ranks need, and returns their
// workplace. Errors name what is missing: a script, a program, a virtual environment or a Python.
// Another error names an argument of the script that is a path on the host, but does not exist in
// the container. This error contains the --bind option that adds the path.
Result<Workplace> in_the_container(const plan::Job& job, const std::string& folder,
                                   worker::ShimLink& shim);

// Returns the paths in the arguments of a program's command line: "/data", "./out", "--data=/data",
// "../data". Arguments without a slash are not paths.
std::vector<std::string> paths_among(std::span<const std::string> words);

}  // namespace toprun::prepare
