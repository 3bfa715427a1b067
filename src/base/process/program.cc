#include "base/process/program.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text/text.h"

namespace toprun::process {

std::string search_path(const Environment& environment) {
  return environment.non_empty("PATH").value_or(std::string(default_path));
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    return is_executable(name) ? std::optional(name) : std::nullopt;
  }
  const std::string path = search_path(environment);
  for (std::string_view folder : split(path, ':')) {
    if (folder.empty()) folder = ".";
    std::string candidate = fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string this_machine() {
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "";
}

Result<std::filesystem::path> own_path() {
  std::error_code error;
  auto path = std::filesystem::read_symlink(own_program, error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  return path;
}

}  // namespace toprun::process
