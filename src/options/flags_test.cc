#include "options/flags.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace toprun::options {
namespace {

TEST(Flags, AreFoundByEitherSpelling) {
  EXPECT_EQ(find_flag("--rdzv_conf", Dialect::run), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--rdzv-conf", Dialect::run), &flag_of(FlagId::rdzv_conf));
  EXPECT_EQ(find_flag("--order", Dialect::run), &flag_of(FlagId::order));
  EXPECT_EQ(find_flag("--order", Dialect::torchrun), nullptr);
  EXPECT_EQ(find_flag('t', Dialect::torchrun), &flag_of(FlagId::tee));
  EXPECT_EQ(find_flag('v', Dialect::torchrun), nullptr);
  for (const char* none : {"", "-", "--", "--tee3", "tee"})
    EXPECT_EQ(find_flag(none, Dialect::run), nullptr);
}

constexpr std::array dialects = {Dialect::torchrun, Dialect::run, Dialect::submit, Dialect::shell,
                                 Dialect::setup};

TEST(Flags, NamesAndVariablesAreUniqueAndSoAreLettersButForSbatchs) {
  for (const Dialect dialect : dialects) {
    std::set<std::string_view> names;
    std::set<std::string_view> variables;
    std::set<char> letters;
    for (const Flag& flag : all_flags()) {
      if (!knows(dialect, flag)) continue;
      EXPECT_TRUE(flag.name.empty() || names.insert(flag.name).second) << flag.name;
      EXPECT_TRUE(flag.variable.empty() || variables.insert(flag.variable).second) << flag.variable;
      if (flag.letter == 0 || letters.insert(flag.letter).second) continue;
      EXPECT_EQ(find_flag(flag.letter, dialect)->id, FlagId::slurm_option) << flag.letter;
    }
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
    std::vector<Dialect> known_to;
  };
  const std::vector<Case> cases = {
      {"--tee", {Dialect::torchrun, Dialect::run, Dialect::submit}},
      {"--order", {Dialect::run, Dialect::submit}},
      {"--partition", {Dialect::submit, Dialect::shell, Dialect::setup}},
      {"--nodes", {Dialect::submit, Dialect::shell}},
      {"--after", {Dialect::submit, Dialect::setup}},
      {"--venv", {Dialect::run, Dialect::submit, Dialect::shell, Dialect::setup}},
      {"--conda", {Dialect::run, Dialect::submit, Dialect::shell}},
      {"--import", {Dialect::setup}},
      {"--array", {Dialect::submit}},
      {"--attach", {Dialect::shell}},
      {"--print-completion", {Dialect::torchrun, Dialect::run}},
      {"--help",
       {Dialect::torchrun, Dialect::run, Dialect::submit, Dialect::shell, Dialect::setup}},
      {"--dry-run", {Dialect::run, Dialect::submit, Dialect::shell, Dialect::setup}},
  };
  for (const auto& [name, known_to] : cases) {
    std::vector<Dialect> found;
    for (const Dialect dialect : dialects) {
      if (find_flag(name, dialect) != nullptr) found.push_back(dialect);
    }
    EXPECT_EQ(found, known_to) << name;
  }
}

TEST(Flags, OnlyTorchrunsAreShortened) {
  EXPECT_EQ(abbreviated("--red", Dialect::submit), std::vector{&flag_of(FlagId::redirects)});
  EXPECT_TRUE(abbreviated("--part", Dialect::submit).empty());
  EXPECT_TRUE(abbreviated("--red", Dialect::shell).empty());
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
      {"--max-retries", "--max-restarts"},
      {"--shutdown-timout", "--shutdown-timeout"},
      {"--topology_r", "--topology-required"},
      {"--gather", "--gather-output"},
      {"--logs-spec", std::nullopt},  // a plug-in: not to be recommended
      {"--zebra", std::nullopt},
      {"--n", std::nullopt},
  };
  for (const auto& [name, expected] : cases)
    EXPECT_EQ(nearest_flag(name, Dialect::run), expected) << name;
  EXPECT_EQ(nearest_flag("--ordr", Dialect::torchrun), std::nullopt);
}

TEST(Flags, ChoicesAreTheWordsOfTheValue) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(choices(flag_of(FlagId::nproc_per_node)), (Words{"cpu", "gpu", "auto"}));
  EXPECT_EQ(choices(flag_of(FlagId::rdzv_backend)), (Words{"static", "c10d"}));
  EXPECT_EQ(choices(flag_of(FlagId::nnodes)), Words{});
  EXPECT_EQ(choices(flag_of(FlagId::standalone)), Words{});
}

}  // namespace
}  // namespace toprun::options
