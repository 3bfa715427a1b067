#include "node/plan/program.h"

#include <filesystem>
#include <fstream>

#include "base/process/program.h"
#include "node/plan/python.h"

namespace toprun::plan {
namespace {

std::string working_directory() {
  std::error_code error;
  const auto directory = std::filesystem::current_path(error);
  return error ? "the working directory, which is gone" : directory.string();
}

// A path for messages; a relative one comes with its base directory.
std::string with_base_folder(const std::string& path) {
  if (std::filesystem::path(path).is_absolute()) return path;
  return fmt::format("{} in {}", path, working_directory());
}

// `--warm torch train.py`: an option whose value may be left out takes one only behind its `=`.
std::optional<std::string> advice_on_modules(const Options& options) {
  const std::string& word = options.script;
  const char* const option = options.warm ? "--warm" : options.prefetch ? "--prefetch" : nullptr;
  const bool is_path = word.find('/') != std::string::npos || word.ends_with(".py");
  if (option == nullptr || is_path || options.arguments.empty()) return std::nullopt;
  return fmt::format("if {} is to import it, write {}={}", option, option, word);
}

std::string advice_on_absent(const std::string& script) {
  if (script == "python" || script == "python3") {
    return fmt::format("leave {} out: toprun starts Python for each rank", script);
  }
  if (script.contains('=') && !script.contains('/')) {
    return "an option before it may have lost its dashes or its value: `toprun -h` and `toprun "
           "submit -h` show the usage";
  }
  return script.ends_with(".py") ? "check the path" : "`toprun -h` shows how to call toprun";
}

// At most so much that its interpreter and its #SBATCH lines stand in it.
std::string beginning_of(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  std::string text(foreign_script_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<void> check_script(const Options& options, const Environment& environment) {
  const std::string& script = options.script;
  if (script == "-") return {};  // Python's name for standard input
  std::error_code error;
  const auto status = std::filesystem::status(script, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return usage(fmt::format("script {}", with_base_folder(script)), errno_text(ENOENT),
                 advice_on_modules(options).value_or(advice_on_absent(script)));
  }
  if (status.type() == std::filesystem::file_type::none) {
    return usage(fmt::format("script {}", with_base_folder(script)), error.message(),
                 "check the path");
  }
  // Python runs a directory that holds a __main__.py.
  if (std::filesystem::is_directory(status) &&
      !std::filesystem::exists(std::filesystem::path(script) / "__main__.py", error)) {
    return usage(fmt::format("script {}", with_base_folder(script)),
                 "is a directory, and has no __main__.py",
                 advice_on_modules(options).value_or("name the file to run"));
  }
  if (!std::filesystem::is_regular_file(status)) return {};  // to be read once, by Python
  if (environment.non_empty("PYTHON_EXEC")) return {};       // whose scripts may be anything
  // One that cannot be read is Python's to complain of.
  const std::string beginning = beginning_of(script);
  if (auto foreign = not_for_python(script, beginning)) return std::unexpected(*std::move(foreign));
  return {};
}

Result<void> check_executable(const std::string& program, const Environment& environment) {
  if (process::find_program(program, environment)) return {};
  if (program.find('/') == std::string::npos) {
    return usage(fmt::format("program {}", program),
                 fmt::format("it is not in PATH={}", process::search_path(environment)),
                 "give the program's path, or leave out --no-python if this is a Python script");
  }
  std::error_code error;
  const auto status = std::filesystem::status(program, error);
  if (std::filesystem::is_directory(status)) {
    return usage(fmt::format("program {}", with_base_folder(program)), "is a directory");
  }
  if (std::filesystem::exists(status)) {
    return usage(
        fmt::format("program {}", with_base_folder(program)), "is not executable",
        fmt::format("chmod +x {}, or leave out --no-python if this is a Python script", program));
  }
  return usage(fmt::format("program {}", with_base_folder(program)), errno_text(ENOENT),
               "check the path");
}

}  // namespace

Result<void> check_program(const Options& options, const Environment& environment) {
  switch (options.program) {
    case Program::script:
      return check_script(options, environment);
    case Program::executable:
      return check_executable(options.script, environment);
    case Program::module:
      return {};
  }
  return {};
}

}  // namespace toprun::plan
