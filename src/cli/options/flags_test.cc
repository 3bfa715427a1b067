#include "cli/options/flags.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/text/text.h"
#include "cli/options/command_lines.h"

namespace toprun::options {
namespace {

TEST(Flags, AreFoundByEitherSpelling) {
  EXPECT_EQ(find_flag("--rdzv_conf", Command::run), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--rdzv-conf", Command::run), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--order", Command::run), &flag_of(FlagId::order));
  EXPECT_EQ(find_flag("--order", Command::torchrun), nullptr);
  EXPECT_EQ(find_flag('t', Command::torchrun), &flag_of(FlagId::tee));
  EXPECT_EQ(find_flag('v', Command::torchrun), nullptr);
  for (const char* none : {"", "-", "--", "--tee3", "tee"})
    EXPECT_EQ(find_flag(none, Command::run), nullptr);
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Ids of several options of one command.
bool is_shared(FlagId id) {
  return id == FlagId::unasked || id == FlagId::slurm_option || id == FlagId::pod_option;
}

constexpr std::array commands = {Command::torchrun, Command::run, Command::submit, Command::shell,
                                 Command::setup};

// A launch's letter gives way to sbatch's and to nccl-tests'.
TEST(Flags, NamesAndVariablesAreUniqueAndSoAreLettersButForOtherPrograms) {
  for (const CommandLine& line : command_lines()) {
    const Command command = line.command;
    std::set<std::string_view> names;
    std::set<std::string_view> variables;
    std::set<char> letters;
    for (const Flag& flag : all_flags()) {
      if (!knows(command, flag)) continue;
      EXPECT_TRUE(flag.name.empty() || names.insert(flag.name).second) << flag.name;
      EXPECT_TRUE(flag.variable.empty() || variables.insert(flag.variable).second) << flag.variable;
      if (flag.letter == 0 || letters.insert(flag.letter).second) continue;
      const Flag& first = *find_flag(flag.letter, command);
      const bool is_of_nccl_tests = command == Command::bench && first.group == Group::of_verb;
      EXPECT_TRUE(is_of_nccl_tests || first.id == FlagId::slurm_option) << flag.letter;
    }
  }
}

TEST(Flags, AVerbsOwnAreReadByItOnly) {
  for (const Flag& flag : all_flags()) {
    if (flag.group != Group::of_verb) continue;
    EXPECT_TRUE(flag.variable.empty()) << flag.name;
    EXPECT_FALSE(knows(Command::run, flag)) << flag.name;
  }
}

TEST(Flags, RivalsAreOtherKeysOfACommandThatKnowsTheOption) {
  for (const Flag& flag : all_flags()) {
    for (const std::string_view key : words(flag.rivals)) {
      const bool is_known = std::ranges::any_of(commands, [&](Command command) {
        const Flag* const rival = find_flag(fmt::format("--{}", key), command);
        return knows(command, flag) && rival != nullptr && rival != &flag;
      });
      EXPECT_TRUE(is_known) << flag.name << ": " << key;
    }
  }
}

// A name that can be a key of toprun.toml, and, without its dashes, the name of a variable.
TEST(Flags, NamesAreOfSmallLettersAndDashes) {
  for (const Flag& flag : all_flags()) {
    EXPECT_TRUE(flag.letter == 0 || is_letter(flag.letter)) << flag.letter;
    if (flag.name.empty()) {
      EXPECT_EQ(flag.id, FlagId::help_short);
      continue;
    }
    EXPECT_TRUE(flag.name.starts_with("--")) << flag.name;
    const std::string key = key_of(flag);
    EXPECT_TRUE(!key.empty() && key.front() != '-' && key.back() != '-') << flag.name;
    const auto is_of_keys = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    EXPECT_TRUE(std::ranges::all_of(key, is_of_keys)) << flag.name;
  }
}

TEST(Flags, ACommandKnowsEachAndFindsItByItsId) {
  for (const Flag& flag : all_flags()) {
    bool is_known = false;
    for (const CommandLine& line : command_lines()) {
      if (!knows(line.command, flag)) continue;
      is_known = true;
      if (is_shared(flag.id)) continue;
      EXPECT_EQ(&flag_of(flag.id, line.command), &flag) << line.name << ' ' << flag.name;
    }
    EXPECT_TRUE(is_known) << flag.name;
  }
}

TEST(Flags, HelpIsWithoutAFullStopAndNamesADefaultOnce) {
  for (const Flag& flag : all_flags()) {
    for (const std::string_view text : {flag.help, flag.default_value}) {
      EXPECT_FALSE(text.ends_with('.') || text.ends_with(' ') || text.starts_with(' ')) << text;
      EXPECT_FALSE(text.contains("  ") || text.contains('\n')) << text;
      EXPECT_EQ(std::ranges::count(text, '('), std::ranges::count(text, ')')) << text;
    }
    EXPECT_FALSE(flag.help.empty()) << flag.name;
    if (!flag.default_value.empty()) EXPECT_FALSE(flag.help.contains("(default")) << flag.name;
  }
}

TEST(Flags, ASwitchIsGivenOnce) {
  for (const Flag& flag : all_flags()) {
    if (flag.is_switch()) EXPECT_FALSE(flag.value_optional || flag.repeatable) << flag.name;
  }
}

// A row that forgets its group would be a general one, and one that forgets its setter would have
// no effect.
TEST(Flags, ALaunchStoresWhatIsNotGeneral) {
  for (const Flag& flag : all_flags()) {
    const bool is_general = flag.group == Group::general;
    if (is_general) EXPECT_NE(flag.id, FlagId::unasked) << flag.name;
    if (is_general || !knows(Command::run, flag) || flag.name == "--use-env") continue;
    EXPECT_NE(flag.set, nullptr) << flag.name;
  }
}

TEST(Flags, VariablesFollowTheName) {
  for (const Flag& flag : all_flags()) {
    if (flag.variable.empty() || flag.id == FlagId::slurm_option) continue;
    std::string expected = flag.origin == Origin::torchrun ? "PET_" : "TOPRUN_";
    for (const char c : flag.name.substr(2)) {
      expected += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    }
    EXPECT_EQ(flag.variable, expected);
  }
}

TEST(Flags, AVerbKnowsItsOwn) {
  struct Case {
    std::string_view name;
    std::vector<Command> known_to;
  };
  const std::vector<Case> cases = {
      {"--tee", {Command::torchrun, Command::run, Command::submit}},
      {"--order", {Command::run, Command::submit}},
      {"--partition", {Command::submit, Command::shell, Command::setup}},
      {"--nodes", {Command::submit, Command::shell}},
      {"--after", {Command::submit, Command::setup}},
      {"--venv", {Command::run, Command::submit, Command::shell, Command::setup}},
      {"--conda", {Command::run, Command::submit, Command::shell}},
      {"--import", {Command::setup}},
      {"--array", {Command::submit}},
      {"--attach", {Command::shell}},
      {"--print-completion", {Command::torchrun, Command::run}},
      {"--help",
       {Command::torchrun, Command::run, Command::submit, Command::shell, Command::setup}},
      {"--dry-run", {Command::run, Command::submit, Command::shell, Command::setup}},
  };
  for (const auto& [name, known_to] : cases) {
    std::vector<Command> found;
    for (const Command command : commands) {
      if (find_flag(name, command) != nullptr) found.push_back(command);
    }
    EXPECT_EQ(found, known_to) << name;
  }
}

TEST(Flags, OnlyTorchrunsAreShortened) {
  EXPECT_EQ(abbreviated("--red", Command::submit), std::vector{&flag_of(FlagId::redirects)});
  EXPECT_TRUE(abbreviated("--part", Command::submit).empty());
  EXPECT_TRUE(abbreviated("--red", Command::shell).empty());
}

TEST(Flags, OlderVariablesStandBehindOneOfTheName) {
  for (const Flag& flag : all_flags()) {
    EXPECT_TRUE(flag.older_variable.empty() || !flag.variable.empty()) << flag.name;
  }
}

TEST(Flags, AMistypedOneIsFound) {
  const std::vector<std::pair<std::string_view, std::optional<std::string>>> cases = {
      {"--log-dirs", "--log-dir"},
      {"--ordr", "--order"},
      {"--nprocs", "--nproc-per-node"},
      {"--nprocs-per-node", "--nproc-per-node"},
      {"--nproc_node", "--nproc-per-node"},
      {"--nporc", "--nproc-per-node"},
      {"--max-retries", "--max-restarts"},
      {"--shutdown-timout", "--shutdown-timeout"},
      {"--topology_r", "--topology-required"},
      {"--gather", "--gather-output"},
      {"--logs-spec", std::nullopt},  // a plug-in: not to be recommended
      {"--zebra", std::nullopt},
      {"--n", std::nullopt},
  };
  for (const auto& [name, expected] : cases)
    EXPECT_EQ(nearest_flag(name, Command::run), expected) << name;
  EXPECT_EQ(nearest_flag("--ordr", Command::torchrun), std::nullopt);
}

TEST(Flags, ChoicesAreTheWordsOfTheValue) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(choices(flag_of(FlagId::nproc_per_node)), (Words{"cpu", "gpu", "auto"}));
  EXPECT_EQ(choices(flag_of(FlagId::rdzv_backend)), (Words{"static", "c10d"}));
  EXPECT_EQ(choices(flag_of(FlagId::nnodes)), Words{});
  EXPECT_EQ(choices(flag_of(FlagId::standalone)), Words{});
}

TEST(Flags, VariablesThatMayBeMistyped) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(doubtful_variables({"TOPRUN_ORDR", "TOPRUN_NPROC_PER_NODE", "TOPRUN_CONFIG",
                                "TOPRUN_TIME", "TOPRUN_HOST"}),
            (Names{"TOPRUN_ORDR is not a variable of toprun; did you mean TOPRUN_ORDER?",
                   "TOPRUN_NPROC_PER_NODE is not a variable of toprun; PET_NPROC_PER_NODE sets "
                   "--nproc-per-node",
                   "TOPRUN_CONFIG is not a variable of toprun; did you mean TOPRUN_CONFIG_FILE?",
                   "TOPRUN_TIME is not a variable of toprun; SBATCH_TIMELIMIT sets --time",
                   "TOPRUN_HOST is not a variable of toprun; did you mean TOPRUN_HOSTS?"}));
  // Of a site's module file, of the build, of toprun's own agents.
  EXPECT_EQ(doubtful_variables({"TOPRUN", "TOPRUN_ROOT", "TOPRUN_HOME", "TOPRUN_BIN", "TOPRUN_LIB",
                                "TOPRUN_DIR", "TOPRUN_PATH", "TOPRUN_PREFIX", "TOPRUN_SEED",
                                "TOPRUN_STEP", "TOPRUN_LOGIN_NODES", "TOPRUN_X", "TOPRUN_ROUNDS",
                                "TOPRUN_VERSION", "PATH", "TOPRUN_"}),
            Names{});
}

}  // namespace
}  // namespace toprun::options
