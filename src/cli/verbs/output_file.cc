#include "cli/verbs/output_file.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/os/console.h"
#include "base/os/files.h"

namespace toprun::cli {

using options::FlagId;

std::optional<std::string> output_file(const options::Call& call) {
  auto file = call.text(FlagId::output);
  if (file == "-") file.reset();
  return file;
}

Result<int> put_out(const options::Call& call, std::string_view content) {
  const auto file = output_file(call);
  if (!file) return print_bytes(content);
  const auto written = write_and_say(*file, content);
  return written ? Result<int>(0) : std::unexpected(written.error());
}

Result<void> check_root(const options::Call& call) {
  const auto argument = call.argument(options::FlagId::root);
  if (!argument) return {};
  const std::filesystem::path root = argument->value;
  std::error_code error;
  constexpr std::array copied = {"sys", "proc", "etc", "dev"};
  const bool is_copy = std::ranges::any_of(
      copied, [&](const char* name) { return std::filesystem::is_directory(root / name, error); });
  if (is_copy) return {};
  return usage(
      argument->label(),
      std::filesystem::is_directory(root, error)
          ? "this folder contains no sys, proc, etc or dev, so toprun can read nothing in it"
          : "there is no such folder",
      "name the folder above the copies of /sys, /proc, /etc and /dev");
}

}  // namespace toprun::cli
