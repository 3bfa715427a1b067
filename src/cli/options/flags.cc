#include "cli/options/flags.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

// --nproc_per_node and --nproc-per-node are the same.
std::string with_dashes(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// A part in capital letters stands for what a user writes there.
bool has_placeholder(std::string_view form) {
  return std::ranges::any_of(form, [](char c) { return c >= 'A' && c <= 'Z'; });
}

constexpr std::string_view own_prefix = "TOPRUN_";

// Variables beside those of options: users' own, those that toprun sets for its agents and ranks,
// and those of the build and the tests.
constexpr std::array<std::string_view, 37> other_variables = {"ACCELERATE_PROCESSES",
                                                              "ATTEMPT",
                                                              "CALLED_AS",
                                                              "COLOURS",
                                                              "CONTAINED_RANK",
                                                              "CONTAINERS",
                                                              "ENGINE_TIMEOUT",
                                                              "INSIDE",
                                                              "LOCATION",
                                                              "LOGIN_ENGINE",
                                                              "LOGIN_JOB",
                                                              "LOGIN_NODE",
                                                              "LOGIN_NODES",
                                                              "LOGIN_ROOT",
                                                              "LOGIN_ROOT_ADDRESS",
                                                              "LOGIN_STAYS",
                                                              "MPIRUN",
                                                              "MPI_NODES",
                                                              "NODE_LABELS",
                                                              "NODE_LABELS_FILE",
                                                              "NODE_NAME",
                                                              "ONE_CODE",
                                                              "SANITIZE",
                                                              "SECRET",
                                                              "SECRET_FILE",
                                                              "SEED",
                                                              "SHELL",
                                                              "SLOTS",
                                                              "SSH",
                                                              "STATIC",
                                                              "STEP",
                                                              "TELLS_LAUNCH",
                                                              "TEST_SEED",
                                                              "VERSION",
                                                              "WARM_CHANNEL",
                                                              "WEB_TOKEN",
                                                              "WRITE_GOLDEN"};

// What users may set; without the prefix.
std::vector<std::string> settable_variables() {
  std::vector<std::string> names = {"ENGINE_TIMEOUT",   "LOCATION",  "MPIRUN",      "NODE_LABELS",
                                    "NODE_LABELS_FILE", "NODE_NAME", "SECRET_FILE", "SSH"};
  for (const Flag& flag : all_flags()) {
    if (flag.variable.starts_with(own_prefix)) {
      names.emplace_back(flag.variable.substr(own_prefix.size()));
    }
  }
  return names;
}

// "--nproc-per-node" for NPROC_PER_NODE, if another variable sets the option.
const Flag* option_spelled(std::string_view name) {
  const std::string option = "--" + with_dashes(lower(name));
  const auto flag = std::ranges::find_if(all_flags(), [&](const Flag& one) {
    return one.name == option && !one.variable.empty() && !one.variable.starts_with(own_prefix);
  });
  return flag == all_flags().end() ? nullptr : &*flag;
}

// The only known name that begins with this one: CONFIG_FILE for CONFIG.
std::optional<std::string> longer_name(std::string_view name,
                                       const std::vector<std::string>& known) {
  std::optional<std::string> found;
  for (const std::string& one : known) {
    if (!one.starts_with(std::string(name) + '_') || found == one) continue;
    if (found) return std::nullopt;
    found = one;
  }
  return found;
}

std::string doubt_about(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t least_letters = 4;  // of fewer letters each word of a site's own is near
  constexpr std::size_t most_wrong = 2;
  if (const Flag* const flag = option_spelled(name)) {
    return fmt::format("{} sets {}", flag->variable, flag->name);
  }
  if (name.size() < least_letters) return {};
  auto meant = did_you_mean(name, known);
  if (meant && edit_distance(name, *meant) > most_wrong) meant.reset();
  if (!meant) meant = longer_name(name, known);
  return meant ? fmt::format("did you mean {}{}?", own_prefix, *meant) : std::string();
}

}  // namespace

bool knows(Command command, const Flag& flag) {
  if (command != Command::torchrun) return (flag.known_to & of(command)) != 0;
  return flag.origin == Origin::torchrun && (flag.known_to & of(Command::run)) != 0;
}

std::string variable_of(const Flag& flag, Command command) {
  constexpr std::string_view sbatch = "SBATCH_";
  if (command != Command::shell || !flag.variable.starts_with(sbatch)) {
    return std::string(flag.variable);
  }
  return fmt::format("SALLOC_{}", flag.variable.substr(sbatch.size()));
}

std::string key_of(const Flag& flag) {
  return std::string(flag.name.substr(2));
}

std::span<const Flag> all_flags() {
  // If several flags have one id, flag_of(id) finds the first: the launch's, not a verb's.
  static const std::vector<Flag> table = [] {
    std::vector<Flag> rows;
    for (const auto part :
         {bench_rows(), allocation_rows(), pod_rows(), launch_rows(), setup_rows(), verb_rows()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return table;
}

const Flag& flag_of(FlagId id) {
  return *std::ranges::find(all_flags(), id, &Flag::id);
}

const Flag& flag_of(FlagId id, Command command) {
  return *std::ranges::find_if(
      all_flags(), [&](const Flag& flag) { return flag.id == id && knows(command, flag); });
}

const Flag* find_flag(std::string_view name, Command command) {
  const std::string requested = with_dashes(name);
  for (const Flag& flag : all_flags()) {
    if (!flag.name.empty() && flag.name == requested && knows(command, flag)) return &flag;
  }
  return nullptr;
}

const Flag* find_flag(char letter, Command command) {
  for (const Flag& flag : all_flags()) {
    if (flag.letter != 0 && flag.letter == letter && knows(command, flag)) return &flag;
  }
  return nullptr;
}

std::vector<const Flag*> abbreviated(std::string_view text, Command command) {
  const std::string beginning = with_dashes(text);
  std::vector<const Flag*> found;
  if (!beginning.starts_with("--") || beginning == "--") return found;
  for (const Flag& flag : all_flags()) {
    if (flag.origin != Origin::torchrun || !knows(command, flag)) continue;
    if (flag.name.starts_with(beginning)) found.push_back(&flag);
  }
  return found;
}

std::vector<std::string_view> choices(const Flag& flag) {
  return choices(flag.value);
}

std::vector<std::string_view> choices(std::string_view form) {
  if (form.find('[') != std::string_view::npos) return {};  // such as ID[:ok|any]
  std::vector<std::string_view> words = toprun::split(form, '|');
  std::erase_if(words, [](std::string_view word) {
    return word.empty() || word.contains(',') || has_placeholder(word);
  });
  return words;
}

std::vector<std::string_view> list_choices(std::string_view form) {
  if (!form.contains(',') || form.contains('|') || form.contains('.')) return {};
  return has_placeholder(form) ? std::vector<std::string_view>() : toprun::split(form, ',');
}

std::vector<std::string> doubtful_variables(const std::vector<std::string>& names) {
  const std::vector<std::string> known = settable_variables();
  std::vector<std::string> warnings;
  for (const std::string_view whole : names) {
    if (!whole.starts_with(own_prefix)) continue;
    const std::string_view name = whole.substr(own_prefix.size());
    const bool is_known = std::ranges::find(known, name) != known.end() ||
                          std::ranges::find(other_variables, name) != other_variables.end();
    const std::string doubt = is_known ? std::string() : doubt_about(name, known);
    if (!doubt.empty()) {
      warnings.push_back(
          fmt::format("{} is not a variable of toprun; {}", printable(whole), doubt));
    }
  }
  return warnings;
}

std::optional<std::string> nearest_flag(std::string_view name, Command command) {
  const std::string requested = with_dashes(name);
  std::vector<std::string> names;
  for (const Flag& flag : all_flags()) {
    if (flag.group == Group::plugins || flag.name.empty()) continue;
    if (knows(command, flag)) names.emplace_back(flag.name);
  }
  // Users may expect toprun's own options to accept abbreviations as torchrun's do.
  constexpr std::size_t least_beginning = 4;
  for (const std::string& whole : names) {
    if (requested.size() >= least_beginning && whole.starts_with(requested)) return whole;
  }
  // Of one letter each word of two is near.
  constexpr std::size_t least_typed = 4;
  if (requested.size() < least_typed) return std::nullopt;
  if (auto near = did_you_mean(requested, names)) return near;
  // As for --nprocs: a word that shares a long beginning with an option and has a short wrong end.
  constexpr std::size_t least_common = 6;
  constexpr std::size_t longest_slip = 2;
  for (const std::string& whole : names) {
    const std::size_t common = common_beginning(requested, whole);
    if (common >= least_common && common + longest_slip >= requested.size()) return whole;
  }
  // As for --nporc: one slip in the beginning of a longer option, and of no other.
  constexpr std::size_t least_begun = 7;
  std::vector<std::string> begun;
  for (const std::string& whole : names) {
    if (requested.size() < least_begun || whole.size() <= requested.size()) continue;
    if (edit_distance(requested, whole.substr(0, requested.size())) == 1) begun.push_back(whole);
  }
  return begun.size() == 1 ? std::optional(begun.front()) : std::nullopt;
}

}  // namespace toprun::options
