#pragma once

#include <string>
#include <vector>

namespace toprun::engines {

// Returns the script and its arguments as the last words of a `toprun run` command line. The words
// begin with `--` if they would otherwise be read as options.
std::vector<std::string> after_options(const std::vector<std::string>& program);

// Returns a command for a pod that sleeps until a user starts runs on its node. Every image with a
// shell can run this command, and its process 1 reaps orphaned processes. Unlike `sleep infinity`
// as process 1, this command ends at SIGTERM, so a deleted pod is gone at once.
inline std::vector<std::string> sleeping_command() {
  return {"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"};
}

}  // namespace toprun::engines
