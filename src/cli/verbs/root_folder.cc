#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/verbs/output_file.h"

namespace toprun::cli {

Result<void> check_root(const options::Call& call) {
  const auto argument = call.argument(options::FlagId::root);
  if (!argument) return {};
  const std::filesystem::path root = argument->value;
  std::error_code error;
  constexpr std::array copied = {"sys", "proc", "etc", "dev"};
  const bool is_copy = std::ranges::any_of(
      copied, [&](const char* name) { return std::filesystem::is_directory(root / name, error); });
  if (is_copy) return {};
  return usage(argument->label(),
               std::filesystem::is_directory(root, error)
                   ? "it has no sys, proc, etc or dev, so nothing can be read there"
                   : "there is no such folder",
               "name the folder above the copies of /sys, /proc, /etc and /dev");
}

}  // namespace toprun::cli
