#include "cli/config_verb.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/config_file.h"
#include "cli/config_init.h"
#include "cli/config_show.h"
#include "cli/print.h"

namespace toprun::cli {
namespace {

struct ConfigVerb {
  std::string_view name;
  std::string_view help;
  int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

constexpr std::array verbs = {
    ConfigVerb{"show", "what counts, and which file or variable says it", run_config_show},
    ConfigVerb{"init", "write a toprun.toml with this cluster's partitions and GPUs",
               run_config_init},
};

std::string help_text() {
  std::string text = "usage: toprun config VERB [OPTIONS]\n\n";
  for (const ConfigVerb& verb : verbs) text += fmt::format("  {:<8}{}\n", verb.name, verb.help);
  return text + "\ntoprun config VERB --help has the options.\n";
}

}  // namespace

int run_config(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> names;
  for (const ConfigVerb& verb : verbs) names.emplace_back(verb.name);
  if (arguments.empty()) {
    return give_up(usage("config", "it needs a verb", "there are " + join(names, ", ")).error());
  }
  const std::string& name = arguments.front();
  if (name == "-h" || name == "--help") return print(help_text());
  const auto verb = std::ranges::find(verbs, name, &ConfigVerb::name);
  if (verb != verbs.end()) return verb->run({arguments.begin() + 1, arguments.end()}, environment);
  return give_up(
      usage("config " + name, "there is no such verb", nearest_or_all(name, names)).error());
}

}  // namespace toprun::cli
