#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "options/call.h"

namespace toprun::cli {

// What toprun does beside running a script. Adding a verb: its file, its test, a line in verbs.cc
// and one in options/command_lines.cc.
struct Verb {
  options::Command command;
  std::string_view usage;  // what follows the name in the list of the help
  std::string_view help;
  // Data goes to stdout, the rest to stderr. Returns the exit code. Null: it has verbs of its own,
  // as topo.
  Result<int> (*run)(const options::Call& call);
};

// The verbs of a verb, as topo's; of an empty name those that stand as the first word.
std::vector<const Verb*> verbs_of(std::string_view family);
// "order" of topo order.
std::string_view last_word_of(const Verb& verb);

// A verb, and the words behind its name.
struct AskedVerb {
  const Verb* verb = nullptr;
  std::span<const std::string> arguments;
};
// The verb whose name the words begin with. nullopt: there is none. `run` is none: it is what
// toprun does without a verb.
std::optional<AskedVerb> find_verb(std::span<const std::string> words);
// The exit code of the verb that the command line asks for. nullopt: it is `run`, said or not, or
// toprun was called torchrun, which has none.
std::optional<int> run_verb(const std::vector<std::string>& argv, const Environment& environment);
// For a verb with verbs of its own, where the words behind it name none of them: its help, or what
// is wrong. Returns the exit code.
Result<int> answer_for(const AskedVerb& family);
// The verb that a mistyped word most likely means.
std::optional<std::string> nearest_verb(std::string_view name);

}  // namespace toprun::cli
