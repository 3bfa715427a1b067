#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/call.h"

namespace toprun::cli {

// A verb of toprun, except `run`, which runs a script. To add a verb, add its file, its test, a
// line to verbs.cc and a line to cli/options/command_lines.cc.
struct Verb {
  options::Command command;
  std::string_view usage;  // the text after the verb's name in the help's list
  std::string_view help;
  // Writes data to stdout and messages to stderr. Returns the exit code. Null for a verb with
  // subcommands, such as topo.
  Result<int> (*run)(const options::Call& call);
};

// Returns all verbs and their subcommands.
std::span<const Verb> all_verbs();
// Returns the subcommands of a verb such as topo. If `family` is empty, returns the verbs that can
// be the first word.
std::vector<const Verb*> verbs_of(std::string_view family);
// Returns the last word of the verb's name: "order" for `topo order`.
std::string_view last_word_of(const Verb& verb);

// A verb, and the words after its name.
struct AskedVerb {
  const Verb* verb = nullptr;
  std::span<const std::string> arguments;
};
// Returns the verb whose name is at the beginning of the words; nullopt if there is none. `run`
// does not count as a verb here, because `toprun SCRIPT` does the same as `toprun run SCRIPT`.
std::optional<AskedVerb> find_verb(std::span<const std::string> words);
// Runs the verb of the command line and returns its exit code. nullopt: the verb is `run`,
// explicitly or by default, or toprun was called under the name torchrun, which has no verbs.
std::optional<int> run_verb(const std::vector<std::string>& argv, const Environment& environment);
// Whether `parent` has started another process with the same command line before this one. `parent`
// is the program that started this process. srun and Open MPI's mpirun start the same command line
// once per task. (With `srun --multi-prog`, tasks have different command lines, but a task cannot
// find that out; srun then names the task that ended with exit code 2.) Pure.
bool is_told_by_first(const Environment& environment, std::string_view parent);
// Reports the error of a command line that would be wrong on every host. Of several processes with
// the same command line, only the first prints why. Returns the exit code.
int refuse_line(const Error& error, const Environment& environment);
// Handles a command line in which `family`, such as `toprun topo`, has no valid subcommand. Prints
// the help and returns the exit code, or returns the error.
Result<int> answer_for(const AskedVerb& family);
// Returns an error if this command line's script is the name of a verb and no such file exists.
Result<void> check_script_is_no_verb(const options::Split& split);
// Returns the verb that a mistyped or shortened word most likely means.
std::optional<std::string> nearest_verb(std::string_view name);

}  // namespace toprun::cli
