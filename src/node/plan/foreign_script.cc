#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text/text.h"
#include "node/plan/program.h"

namespace toprun::plan {
namespace {

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

std::string as_program(const std::string& script) {
  return script.contains('/') ? script : "./" + script;
}

std::string advice_on(const std::string& script, std::string_view text) {
  std::string advice =
      fmt::format("to start the script as it is, write --no-python {}", as_program(script));
  const std::vector<std::string> options = sbatch_options(text);
  if (!options.empty()) {
    advice += fmt::format(
        "; to submit the script as a separate job, run `sbatch {}`; to submit a Python script with "
        "the same options, run `toprun submit {} SCRIPT`",
        script, join(options, " "));
  }
  return advice;
}

}  // namespace

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

}  // namespace toprun::plan
