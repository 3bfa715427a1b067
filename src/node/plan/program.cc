#include "node/plan/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text/text.h"

namespace toprun::plan {
namespace {

namespace fs = std::filesystem;

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

constexpr std::string_view elf_magic =
    "\x7f"
    "ELF";

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_python_name(std::string_view name) {
  return name.starts_with("python") || name.starts_with("pypy");
}

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view one) { return name.ends_with(one); });
}

// The interpreter that the first line names, without its folder: "bash" of "#!/usr/bin/env -S bash
// -l". Empty: the line names none.
std::string_view interpreter_of(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  const auto parts = words(text.substr(2, text.find('\n') - 2));
  for (const std::string_view part : parts) {
    const std::string_view name = last_part(part);
    const bool is_of_env = part.starts_with('-') || part.contains('=');
    if (name != "env" && !is_of_env) return name;
  }
  return {};
}

// "#!/bin/sh" and a second line that only a shell takes for a command: a script of Python's that
// looks for its interpreter by itself, as pip writes where the path of that is too long.
bool is_python_behind_a_shell(std::string_view text) {
  const std::size_t second = std::min(text.find('\n'), text.size() - 1) + 1;
  const std::string_view line = text.substr(second);
  return line.starts_with("'''") || line.starts_with("\"\"\"") || line.starts_with("\"exec\"") ||
         line.starts_with("''':'");
}

// The options of the lines that sbatch reads: those before the first command.
std::vector<std::string> sbatch_options(std::string_view text) {
  constexpr std::string_view mark = "#SBATCH";
  std::vector<std::string> options;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.empty() && !line.starts_with('#')) break;
    if (!line.starts_with(mark)) continue;
    const std::string_view rest = line.substr(mark.size());
    for (const std::string_view word : words(rest.substr(0, rest.find(" #")))) {
      options.emplace_back(word);
    }
  }
  return options;
}

// sbatch's options that toprun submit has with the same names and letters.
constexpr std::string_view letters_of_submit = "NGctpACqwxJDbdoaW";
constexpr std::array names_of_submit = std::to_array<std::string_view>(
    {"--nodes",    "--gpus-per-node", "--gpus",      "--gres",      "--cpus-per-task",
     "--mem",      "--exclusive",     "--time",      "--partition", "--account",
     "--qos",      "--constraint",    "--nodelist",  "--exclude",   "--reservation",
     "--switches", "--contiguous",    "--job-name",  "--chdir",     "--begin",
     "--array",    "--dependency",    "--mail-type", "--mail-user", "--output",
     "--error",    "--signal",        "--requeue",   "--wait"});
// How many tasks Slurm starts (under toprun submit, one per node), and the form of sbatch's answer.
constexpr std::array not_for_submit = std::to_array<std::string_view>(
    {"--ntasks", "--ntasks-per-node", "--ntasks-per-gpu", "--ntasks-per-core",
     "--ntasks-per-socket", "--quiet", "--parsable", "--test-only", "-Q"});

bool is_left_out(std::string_view name) {
  return name.starts_with("-n") || std::ranges::find(not_for_submit, name) != not_for_submit.end();
}

bool is_of_submit(std::string_view name) {
  if (!name.starts_with("--")) return name.size() > 1 && letters_of_submit.contains(name[1]);
  return std::ranges::find(names_of_submit, name) != names_of_submit.end();
}

// The options for toprun submit that request what these options of sbatch request. Empty: a value
// is quoted, or there is nothing left.
std::vector<std::string> as_options_of_submit(const std::vector<std::string>& options) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (option.find_first_of("\"'") != std::string::npos || !option.starts_with('-')) return {};
    const std::string_view name = std::string_view(option).substr(0, option.find('='));
    const bool has_value = i + 1 < options.size() && !options[i + 1].starts_with('-');
    const std::string value = has_value ? options[++i] : std::string();
    if (value.find_first_of("\"'") != std::string::npos) return {};
    if (is_left_out(name)) continue;
    if (option.starts_with("-e")) {  // toprun's letter for another option
      out.push_back("--error=" + (has_value ? value : option.substr(2)));
      continue;
    }
    const bool is_known = is_of_submit(name);
    if (is_known) {
      out.push_back(option);
      if (has_value) out.push_back(value);
    } else if (option.starts_with("--")) {
      out.push_back(fmt::format("--slurm-arg={}{}{}", option, has_value ? "=" : "", value));
    } else {
      out.push_back(fmt::format("--slurm-arg={}{}", option, value));
    }
  }
  return out;
}

std::string as_program(const std::string& script) {
  return script.contains('/') ? script : "./" + script;
}

std::string advice_on(const std::string& script, std::string_view text) {
  std::string advice =
      fmt::format("to start the script as it is, write --no-python {}", as_program(script));
  const std::vector<std::string> options = sbatch_options(text);
  if (options.empty()) return advice;
  advice += fmt::format("; to submit the script as a separate job, run `sbatch {}`", script);
  const std::vector<std::string> submits = as_options_of_submit(options);
  if (submits.empty()) return advice;
  return advice + fmt::format(
                      "; to submit a Python script with the same options, run `toprun "
                      "submit {} SCRIPT`",
                      join(submits, " "));
}

std::string working_directory() {
  std::error_code error;
  const auto directory = fs::current_path(error);
  return error ? "the working directory, which is gone" : directory.string();
}

// A path for messages; a relative one comes with its base directory.
std::string with_base_folder(const std::string& path) {
  if (fs::path(path).is_absolute()) return path;
  return fmt::format("{} in {}", path, working_directory());
}

// `--warm torch train.py`, `--web 8080 train.py`: an option whose value may be left out takes one
// only behind its `=`.
std::optional<std::string> advice_on_modules(const Options& options) {
  const std::string& word = options.script;
  const std::string port = word.substr(word.rfind(':') + 1);  // npos + 1 is 0
  if (options.web && !options.arguments.empty() && parse_int(port)) {
    return fmt::format("if the page is to be at this port, write --web={}", word);
  }
  const char* const option = options.warm ? "--warm" : options.prefetch ? "--prefetch" : nullptr;
  const bool is_path = word.find('/') != std::string::npos || word.ends_with(".py");
  if (option == nullptr || is_path || options.arguments.empty()) return std::nullopt;
  return fmt::format("if {} is to import it, write {}={}", option, option, word);
}

std::vector<std::string> scripts_beside(const std::string& script) {
  constexpr std::size_t most_looked_at = 1000;  // a folder of data may have millions of files
  const fs::path folder = fs::path(script).parent_path();
  std::vector<std::string> names;
  std::error_code error;
  std::size_t looked_at = 0;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end && looked_at < most_looked_at; entry.increment(error), ++looked_at) {
    if (entry->path().extension() == ".py") names.push_back(entry->path().filename().string());
  }
  return names;
}

// As "train.py" does; the ending of "n1.example.org" is a domain.
bool has_ending_of_a_script(const std::string& word) {
  constexpr std::array<std::string_view, 10> endings = {".py", ".pyc", ".pyz", ".sh",    ".bash",
                                                        ".pl", ".jl",  ".R",   ".slurm", ".sbatch"};
  return std::ranges::any_of(endings, [&](std::string_view one) { return word.ends_with(one); });
}

// As "job.sh" and "jobs/train" do; "0.5" may be the value of an option.
bool looks_like_a_file(const std::string& script) {
  const std::string ending = fs::path(script).extension().string();
  const char first = ending.size() > 1 ? ending[1] : '\0';
  return script.contains('/') || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

std::string advice_on_absent(const Options& options) {
  const std::string& script = options.script;
  if (script == "python" || script == "python3") {
    return fmt::format("leave {} out: toprun starts Python for each rank", script);
  }
  if (script.contains('=') && !script.contains('/')) {
    return "an option before it may have lost its dashes or its value: `toprun -h` and `toprun "
           "submit -h` show the usage";
  }
  if (std::error_code error; fs::is_regular_file(script + ".py", error)) {
    return fmt::format("did you mean {}.py?", script);
  }
  if (const auto meant =
          did_you_mean(fs::path(script).filename().string(), scripts_beside(script))) {
    return fmt::format("did you mean {}?", (fs::path(script).parent_path() / *meant).string());
  }
  const bool is_after_hosts = options.hosts.source == "--hosts" && !options.arguments.empty();
  if (is_after_hosts && !script.contains('/') && !has_ending_of_a_script(script)) {
    return fmt::format("if it is a host, write --hosts {},{}", options.hosts.value, script);
  }
  if (looks_like_a_file(script)) return "check the path";
  return "`toprun -h` shows how to call toprun";
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
  const auto status = fs::status(script, error);
  if (status.type() == fs::file_type::not_found) {
    return usage(fmt::format("script {}", with_base_folder(script)), errno_text(ENOENT),
                 advice_on_modules(options).value_or(advice_on_absent(options)));
  }
  if (status.type() == fs::file_type::none) {
    return usage(fmt::format("script {}", with_base_folder(script)), error.message(),
                 "check the path");
  }
  // Python runs a directory that holds a __main__.py.
  if (fs::is_directory(status) && !fs::exists(fs::path(script) / "__main__.py", error)) {
    return usage(fmt::format("script {}", with_base_folder(script)),
                 "is a directory, and has no __main__.py",
                 advice_on_modules(options).value_or("name the file to run"));
  }
  if (!fs::is_regular_file(status)) return {};          // to be read once, by Python
  if (environment.non_empty("PYTHON_EXEC")) return {};  // whose scripts may be anything
  // One that cannot be read is Python's to complain of.
  const std::string beginning = beginning_of(script);
  if (auto foreign = not_for_python(script, beginning)) return std::unexpected(*std::move(foreign));
  return {};
}

Result<void> check_executable(const std::string& program, const Environment& environment) {
  if (process::find_program(program, environment)) return {};
  if (program.find('/') == std::string::npos) {
    if (std::error_code error; fs::is_regular_file(program, error)) {
      const bool can_run = ::access(program.c_str(), X_OK) == 0;
      return usage(
          fmt::format("program {}", program),
          "a name without a slash means a program in PATH, and not the file in this folder",
          can_run
              ? fmt::format("write ./{}", program)
              : fmt::format("make the file executable (chmod +x {0}), and write ./{0}", program));
    }
    return usage(fmt::format("program {}", program),
                 fmt::format("it is not in PATH={}", process::search_path(environment)),
                 "give the program's path, or leave out --no-python if this is a Python script");
  }
  std::error_code error;
  const auto status = fs::status(program, error);
  if (fs::is_directory(status)) {
    return usage(fmt::format("program {}", with_base_folder(program)), "is a directory");
  }
  if (fs::exists(status)) {
    return usage(
        fmt::format("program {}", with_base_folder(program)), "is not executable",
        fmt::format("chmod +x {}, or leave out --no-python if this is a Python script", program));
  }
  return usage(fmt::format("program {}", with_base_folder(program)), errno_text(ENOENT),
               "check the path");
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

std::optional<Error> not_for_python(const std::string& script, std::string_view beginning) {
  constexpr std::array<std::string_view, 3> of_python = {".py", ".pyw", ".pyz"};
  constexpr std::array<std::string_view, 4> of_shells = {".sh", ".bash", ".sbatch", ".slurm"};
  const std::string_view name = last_part(script);
  if (ends_with_any(name, of_python)) return std::nullopt;
  const std::string what = fmt::format("script {}", script);
  if (beginning.starts_with(elf_magic)) {
    return Error{what, "is a program, and Python can run only a script",
                 is_python_name(name)
                     ? fmt::format("leave {} out: toprun starts Python for each rank", script)
                     : fmt::format("write --no-python {}", as_program(script)),
                 exit_usage};
  }
  const std::string_view interpreter = interpreter_of(beginning);
  if (is_python_name(interpreter) || is_python_behind_a_shell(beginning)) return std::nullopt;
  if (!interpreter.empty()) {
    return Error{what, fmt::format("is a script for {}, not for Python", interpreter),
                 advice_on(script, beginning), exit_usage};
  }
  if (!ends_with_any(name, of_shells)) return std::nullopt;
  return Error{what, "has the name of a shell script, and Python cannot run it",
               advice_on(script, beginning), exit_usage};
}

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
