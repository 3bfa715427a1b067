#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// What toprun does beside running a script. Adding a verb: its file, its test and a line in
// verbs.cc.
struct Verb {
  std::string_view name;
  std::string_view usage;  // what follows the name in the list of the help
  std::string_view help;
  // `arguments` are those behind the name. Data goes to stdout, the rest to stderr, an error in one
  // line. Returns the exit code.
  int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

std::span<const Verb> all_verbs();
// nullptr: there is none of this name. `run` is none: it is what toprun does without a verb.
const Verb* find_verb(std::string_view name);
// The verb that the command line asks for by its first word. nullptr: it is `run`, said or not, or
// toprun was called torchrun, which has none.
const Verb* asked_verb(const std::vector<std::string>& argv);
// The verb that a mistyped word most likely means.
std::optional<std::string> nearest_verb(std::string_view name);

}  // namespace toprun::cli
