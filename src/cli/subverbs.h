#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// A verb of a verb: `order` of `toprun topo`.
struct Subverb {
  std::string_view name;
  std::string_view help;
  int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

struct Family {
  std::string_view verb;  // "topo"
  std::string_view summary;
  std::string_view example;
  std::string_view example_note;
  std::span<const Subverb> verbs;
};

// Hands the arguments to the one that they begin with; prints the family's help.
int run_subverb(const Family& family, const std::vector<std::string>& arguments,
                const Environment& environment);

}  // namespace toprun::cli
