#include "launch/python.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

namespace toprun::launch {
namespace {

constexpr std::string_view default_path = "/bin:/usr/bin";  // execvp(3), glibc 2.24 and later
constexpr std::array python_names = {"python3", "python"};

std::string path_of(const Environment& environment) {
  return environment.get("PATH").value_or(std::string(default_path));
}

std::string in_directory(std::string_view directory, std::string_view name) {
  if (directory.empty()) return fmt::format("./{}", name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

// The first of python3 and python in the directory, or nothing.
std::string python_in(std::string_view directory, const IsExecutable& is_executable) {
  for (const char* name : python_names) {
    std::string candidate = in_directory(directory, name);
    if (is_executable(candidate)) return candidate;
  }
  return {};
}

Result<Python> python_of_variable(const std::string& value, const Environment& environment,
                                  const std::string& host, const IsExecutable& is_executable) {
  std::string found = find_in_path(value, environment, is_executable);
  if (!found.empty()) return Python{std::move(found), "PYTHON_EXEC"};
  return fail(fmt::format("PYTHON_EXEC={} on host {}", value, host), "no such program",
              "correct or unset PYTHON_EXEC");
}

}  // namespace

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string find_in_path(const std::string& name, const Environment& environment,
                         const IsExecutable& is_executable) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : std::string();
  const std::string path = path_of(environment);
  for (const std::string_view directory : split(path, ':')) {
    std::string candidate = in_directory(directory, name);
    if (is_executable(candidate)) return candidate;
  }
  return {};
}

Result<Python> choose_python(const std::string& argv0, const Environment& environment,
                             const std::string& host, const IsExecutable& is_executable) {
  if (const auto exec = environment.non_empty("PYTHON_EXEC")) {
    return python_of_variable(*exec, environment, host, is_executable);
  }
  std::vector<std::string> looked;
  const std::string called = find_in_path(argv0, environment, is_executable);
  if (const std::size_t slash = called.rfind('/'); slash != std::string::npos) {
    const std::string directory = called.substr(0, slash + 1);
    if (std::string found = python_in(directory, is_executable); !found.empty()) {
      return Python{std::move(found), "beside " + called};
    }
    looked.push_back(directory);
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = environment.non_empty(variable);
    if (!prefix) continue;
    const std::string directory = in_directory(*prefix, "bin");
    if (std::string found = python_in(directory, is_executable); !found.empty()) {
      return Python{std::move(found), variable};
    }
    looked.push_back(directory);
  }
  for (const char* name : python_names) {
    std::string found = find_in_path(name, environment, is_executable);
    if (!found.empty()) return Python{std::move(found), "PATH"};
  }
  looked.push_back("PATH=" + path_of(environment));
  return fail(fmt::format("no Python on host {}", host),
              fmt::format("no python3 or python in {}", join(looked, ", ")),
              "set PYTHON_EXEC, or give --no-python if the script is a program");
}

}  // namespace toprun::launch
