#include "machine/stacks/frame.h"

namespace toprun::stacks {

bool is_of_library(std::string_view file) {
  return file.contains("/site-packages/") || file.contains("/dist-packages/") ||
         file.contains("/lib/python3") || file.contains("/lib64/python3") ||
         file.starts_with("<frozen");
}

}  // namespace toprun::stacks
