#include "node/plan/python.h"

#include <array>

#include "base/process/program.h"
#include "base/text/text.h"

namespace toprun::plan {
namespace {

constexpr std::array python_names = {"python3", "python"};

std::string in_directory(std::string_view directory, std::string_view name) {
  if (directory.empty()) return fmt::format("./{}", name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

// The path of python3, else of python, in the directory; empty if neither is there.
std::string python_in(std::string_view directory, const process::IsExecutable& is_executable) {
  for (const char* name : python_names) {
    std::string candidate = in_directory(directory, name);
    if (is_executable(candidate)) return candidate;
  }
  return {};
}

Result<Python> python_of_variable(const std::string& value, const Environment& environment,
                                  const std::string& host,
                                  const process::IsExecutable& is_executable) {
  if (auto found = process::find_program(value, environment, is_executable)) {
    return Python{*std::move(found), "PYTHON_EXEC"};
  }
  return fail(fmt::format("PYTHON_EXEC={} on host {}", value, host),
              "this is not an executable program", "correct or unset PYTHON_EXEC");
}

}  // namespace

Result<Python> choose_python(const std::string& argv0, const Environment& environment,
                             const std::string& host, const process::IsExecutable& is_executable) {
  if (const auto exec = environment.non_empty("PYTHON_EXEC")) {
    return python_of_variable(*exec, environment, host, is_executable);
  }
  std::vector<std::string> looked;
  const std::string called = process::find_program(argv0, environment, is_executable).value_or("");
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
    if (auto found = process::find_program(name, environment, is_executable)) {
      return Python{*std::move(found), "PATH"};
    }
  }
  looked.push_back("PATH=" + process::search_path(environment));
  return fail(fmt::format("no Python on host {}", host),
              fmt::format("no python3 or python in {}", join(looked, ", ")),
              "set PYTHON_EXEC, or give --no-python if the script is a program");
}

}  // namespace toprun::plan
