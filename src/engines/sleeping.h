#pragma once

#include <string>
#include <vector>

namespace toprun::engines {

// What a pod runs whose nodes are used later: any image with a shell has it, its process 1 reaps
// what others leave behind, and unlike `sleep infinity` as process 1 it ends at SIGTERM, so that
// the pod is gone at once when it is deleted.
inline std::vector<std::string> sleeping_command() {
  return {"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"};
}

}  // namespace toprun::engines
