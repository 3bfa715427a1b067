#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/call.h"

namespace toprun::cli {

// The verbs of toprun besides running a script. To add a verb: its file, its test, a line in
// verbs.cc and one in cli/options/command_lines.cc.
struct Verb {
  options::Command command;
  std::string_view usage;  // the text after its name in the help's list
  std::string_view help;
  // Writes data to stdout and the rest to stderr; returns the exit code. Null for a verb with its
  // own verbs, such as topo.
  Result<int> (*run)(const options::Call& call);
};

// The verbs below a verb such as topo; for an empty name the verbs that can be the first word.
std::vector<const Verb*> verbs_of(std::string_view family);
// "order" of topo order.
std::string_view last_word_of(const Verb& verb);

// A verb, and the words after its name.
struct AskedVerb {
  const Verb* verb = nullptr;
  std::span<const std::string> arguments;
};
// The verb whose name the words begin with; nullopt: there is none. `run` does not count: it is
// what toprun does without a verb.
std::optional<AskedVerb> find_verb(std::span<const std::string> words);
// Runs the command line's verb and returns its exit code. nullopt: the verb is `run`, explicit or
// not, or toprun was called torchrun, which has no verbs.
std::optional<int> run_verb(const std::vector<std::string>& argv, const Environment& environment);
// For a verb with its own verbs if the following words name none of them: prints its help or the
// error. Returns the exit code.
Result<int> answer_for(const AskedVerb& family);
// The verb that a mistyped word most likely means.
std::optional<std::string> nearest_verb(std::string_view name);

}  // namespace toprun::cli
