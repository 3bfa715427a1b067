#include "cli/config/config_file.h"

#include <gtest/gtest.h>

#include "cli/options/flags.h"

namespace toprun::config {
namespace {

using Words = std::vector<std::string>;

const ConfigPlace place = {"toprun.toml", "/project", "/home/ada"};

Result<ConfigFile> parse(std::string_view text) {
  return parse_config(text, place);
}

std::string error_of(std::string_view text) {
  const auto file = parse(text);
  if (file && file->errors.empty()) return "no error";
  const Error& error = file ? file->errors.front() : file.error();
  EXPECT_EQ(error->exit_code, exit_usage);
  return error.line();
}

TEST(ConfigFile, ValuesAreThoseOfACommandLine) {
  struct Row {
    std::string_view text;
    std::string_view key;
    Words values;
  };
  const Row rows[] = {
      {"nproc-per-node = 8", "nproc-per-node", {"8"}},
      {"nproc_per_node = 'gpu'", "nproc-per-node", {"gpu"}},
      {"fold = true", "fold", {""}},
      {"fold = false", "fold", {}},
      {"venv = false", "venv", {}},
      {"exclusive = true", "exclusive", {""}},
      {"exclusive = 'user'", "exclusive", {"user"}},
      {"modules = 'cuda,gcc'", "modules", {"cuda,gcc"}},
      {"modules = ['cuda/12', 'gcc']", "modules", {"cuda/12", "gcc"}},
      {"modules = []", "modules", {}},
      {"slurm-arg = ['--nice=5', '--hold']", "slurm-arg", {"--nice=5", "--hold"}},
      {"partition = ['gpu', 'debug']", "partition", {"gpu,debug"}},
      {"hosts = ['a', 'b[3-9]:4']", "hosts", {"a,b[3-9]:4"}},
      {"local-ranks-filter = [0, 3]", "local-ranks-filter", {"0,3"}},
      {"duplicate-stdout-filters = ['a,b', 'c']", "duplicate-stdout-filters", {"a,,b,c"}},
      {"time = '2:00:00'", "time", {"2:00:00"}},
      {"role = 'größer'", "role", {"größer"}},
      {"role = ''", "role", {""}},
  };
  for (const Row& row : rows) {
    const auto file = parse(row.text);
    ASSERT_TRUE(file) << row.text << '\n' << file.error().line();
    const ConfigTable expected = {{std::string(row.key), row.values, 1}};
    EXPECT_EQ(file->options, expected) << row.text;
  }
}

TEST(ConfigFile, PathsBeginInTheFilesFolder) {
  struct Row {
    std::string_view text;
    std::string_view value;
  };
  const Row rows[] = {
      {"venv = 'env'", "/project/env"},
      {"venv = '../env'", "/env"},
      {"venv = '/opt/env'", "/opt/env"},
      {"venv = '~/env'", "/home/ada/env"},
      {"log-dir = 'logs'", "/project/logs"},
      {"chdir = 'x/..'", "/project/"},
      {"hostfile = 'hosts.txt'", "/project/hosts.txt"},
      {"output = 'out/%j'", "/project/out/%j"},
      {"container = 'images/a.sif'", "/project/images/a.sif"},
      {"container = 'docker://python'", "docker://python"},
      {"bind = 'data:/data'", "/project/data:/data"},
      {"container-workdir = '/job'", "/job"},
      {"environment = 'torch'", "torch"},
      {"environment = 'torch.toml'", "/project/torch.toml"},
      {"environment = 'envs/torch.toml'", "/project/envs/torch.toml"},
      {"conda = 'torch'", "torch"},
      {"conda = 'envs/torch'", "/project/envs/torch"},
      {"topology = 'slurm'", "slurm"},
      {"topology = 'name:r(?<rack>.)'", "name:r(?<rack>.)"},
      {"topology = 'racks.txt'", "/project/racks.txt"},
      {"order = 'name'", "name"},
      {"order = 'file:order.txt'", "file:/project/order.txt"},
      {"job-name = 'env'", "env"},
  };
  for (const Row& row : rows) {
    const auto file = parse(row.text);
    ASSERT_TRUE(file) << row.text << '\n' << file.error().line();
    EXPECT_EQ(file->options.at(0).values, Words{std::string(row.value)}) << row.text;
  }
}

TEST(ConfigFile, VariablesHaveAnEntryEach) {
  const ConfigTable expected = {{"env", {"A=1"}, 2, "A"}, {"env", {"B=x y"}, 3, "B"}};
  EXPECT_EQ(parse("[env]\nA = 1\nB = 'x y'")->options, expected);
  const ConfigTable listed = {{"env", {"A=1"}, 1, "A"}, {"env", {"B"}, 1, "B"}};
  EXPECT_EQ(parse("env = ['A=1', 'B']")->options, listed);
}

TEST(ConfigFile, Profiles) {
  const auto file = parse(R"(default-profile = "big"
nodes = 1
[profile.big]
nodes = 8
env = { A = "1" }
[profile."two words"])");
  ASSERT_TRUE(file) << file.error().line();
  EXPECT_EQ(file->default_profile, "big");
  EXPECT_EQ(file->default_profile_line, 1);
  EXPECT_EQ(file->options, (ConfigTable{{"nodes", {"1"}, 2}}));
  ASSERT_EQ(file->profiles.size(), 2u);
  EXPECT_EQ(file->profiles.at("big"), (ConfigTable{{"env", {"A=1"}, 5, "A"}, {"nodes", {"8"}, 4}}));
  EXPECT_TRUE(file->profiles.at("two words").empty());
}

TEST(ConfigFile, ErrorsNameThePlaceAndWhatWasMeant) {
  struct Row {
    std::string_view text;
    std::string_view error;
  };
  const Row rows[] = {
      {"nodes 8", "toprun.toml:1:7: "},
      {"\nvenv = env", "toprun.toml:2:8: "},
      {"nodes = 1\nnodes = 2", "toprun.toml:2:9: "},
      {"[.a]", "toprun.toml:1:2: "},
      {"größe = 1", "toprun.toml:1:3: "},
      {"nproc-per-nod = 8",
       "toprun.toml:1:1: unknown key nproc-per-nod; did you mean nproc-per-node?"},
      {"nproc = 8", "toprun.toml:1:1: unknown key nproc; did you mean nproc-per-node?"},
      {"moduels = []", "toprun.toml:1:1: unknown key moduels; did you mean modules?"},
      {"evn = {}", "toprun.toml:1:1: unknown key evn; did you mean env?"},
      {"\n  [links]\n", "toprun.toml:2:4: unknown key links; did you mean link?"},
      {"[submit]\nnodes = 2",
       "toprun.toml:1:2: unknown section submit; the only sections are [profile.NAME] and [env]: "
       "move this section's keys above the first section"},
      {"[env]\nA = '1'\n[submit]", "toprun.toml:3:2: unknown section submit; "},
      {"zebra = 1", "toprun.toml:1:1: unknown key zebra; keys are long options"},
      {"--nodes = 8", "toprun.toml:1:1: unknown key --nodes; did you mean nodes?"},
      {"nnodes = 1\nn_nodes = 2", "toprun.toml:2:1: unknown key n_nodes"},
      {"log-dir = 'a'\nlog_dir = 'b'", "toprun.toml:2:1: log-dir is given twice"},
      {"dry-run = true",
       "toprun.toml:1:1: dry-run cannot be set in a file; give --dry-run on the command line"},
      {"help = true",
       "toprun.toml:1:1: help cannot be set in a file; give --help on the command line"},
      {"node-rank = 1", "toprun.toml:1:1: node-rank cannot be set in a file"},
      {"no-config = true", "toprun.toml:1:1: no-config cannot be set in a file"},
      {"logs-specs = 'x'", "toprun.toml:1:1: logs-specs cannot be set in a file"},
      {"fold = 'yes'", "toprun.toml:1:8: fold cannot be a string; write true or false"},
      {"fold = 1", "toprun.toml:1:8: fold cannot be a number; write true or false"},
      {"nodes = true", "toprun.toml:1:9: nodes cannot be true or false; write a value: N|MIN-MAX"},
      {"nodes = [1]", "toprun.toml:1:9: nodes cannot be an array; write one value: N|MIN-MAX"},
      {"time = 02:00:00",
       "toprun.toml:1:8: time cannot be a date or time; write the value in quotes"},
      {"parallel = { tp = 8 }",
       "toprun.toml:1:12: parallel cannot be a table; write a string: \"tp=N,pp=N,...\""},
      {"modules = ['a', ['b']]", "toprun.toml:1:17: modules cannot be an array; write a string"},
      {"env = 1", "no error"},  // as -e 1, whose name parse_variable() refuses
      {"env = { A = true }",
       "toprun.toml:1:13: env.A is not of the form NAME = \"VALUE\"; write the value in"},
      {"env = { A = [1] }", "toprun.toml:1:13: env cannot be an array"},
      {"role = \"a\\u0000\"", "toprun.toml:1:8: role contains a zero byte"},
      {"profile = 'big'", "toprun.toml:1:11: profile must be a table of tables"},
      {"[profile]\nbig = 1", "toprun.toml:2:1: profile.big is not a table"},
      {"[profile.big]\nnods = 1", "toprun.toml:2:1: unknown key nods; did you mean nodes?"},
      {"default-profile = 1", "toprun.toml:1:19: default-profile must be the name of a profile"},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(error_of(row.text).starts_with(row.error)) << row.text << '\n'
                                                           << error_of(row.text);
  }
}

// Only a value can be a text whose quotes are missing.
TEST(ConfigFile, QuotesAreNamedWhereTheyAreMissing) {
  const std::string_view quotes = "; write strings in quotes", any = "; see https://toml.io",
                         list = "; write lists as [\"a\", \"b\"]";
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"script = train.py", quotes},
      {"time = 2:00:00", quotes},
      {"venv = ~/env", quotes},
      {"venv = /env # it", quotes},
      {"modules = [a, 'b']", quotes},
      {"modules = ['a', b]", quotes},
      {"modules = [\n  'a',\n  b,\n]", quotes},
      {"time = 2 hours", quotes},
      {"nodes = 4\nnodes = 5", any},
      {"fold = true\nfold = true", any},
      {"nodes = 04", any},
      {"venv =", any},
      {"venv = \n", any},
      {"[profile", any},
      {"[[profile", any},
      {"[profile.a b]", any},
      {"venv = 'a", any},
      {"venv = \"a\\qb\"", any},
      {"venv = 'a' 'b'", any},
      {"modules = ['a',", list},
      {"= 1", any},
      {"a b = 1", any},
      {"venv 'a'", any},
      {"fold = true\nvenv", any},
      {"modules = ['a'\n'b']", list},
  };
  for (const auto& [text, hint] : rows) {
    EXPECT_TRUE(error_of(text).ends_with(hint)) << text << '\n' << error_of(text);
  }
}

TEST(ConfigFile, ATextWithoutQuotesIsShown) {
  EXPECT_TRUE(error_of("exclude = [n1, n2]").contains(": n1 has no quotes; "));
  EXPECT_TRUE(error_of("script = train.py # mine").contains(": train.py has no quotes; "));
}

TEST(ConfigFile, AMissingClosingQuoteIsNamed) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"\nvenv = \"env\nnodes = 1\n", "toprun.toml:2:8: "},
      {"venv = 'env", "toprun.toml:1:8: "},
      {"venv = \"env\\\"", "toprun.toml:1:8: "},
      {"venv = \"\"\"env\nnodes = 1\n", "toprun.toml:1:8: "},
      {"modules = [\"a, \"b\"]", "toprun.toml:1:18: "},
  };
  for (const auto& [text, where] : rows) {
    const std::string expected =
        fmt::format("{}the string that begins here has no closing quote; ", where);
    EXPECT_TRUE(error_of(text).starts_with(expected)) << text << '\n' << error_of(text);
  }
  // The mistake of an earlier line comes first.
  EXPECT_TRUE(error_of("nodes = 4\nnodes = 5\nvenv = 'a").starts_with("toprun.toml:2:9: "));
}

TEST(ConfigFile, AllWrongKeysAreReportedInTheOrderOfTheFile) {
  const auto file =
      parse("nods = 1\nfold = 1\nenv = { B = true, A = false }\n[profile.x]\nnod = 1");
  ASSERT_TRUE(file) << file.error().line();
  std::vector<std::string> places;
  for (const Error& error : file->errors) places.push_back(error->what);
  EXPECT_EQ(places, (Words{"toprun.toml:1:1", "toprun.toml:2:8", "toprun.toml:3:13",
                           "toprun.toml:3:23", "toprun.toml:5:1"}));
}

TEST(ConfigFile, TheNumberOfReportedErrorsIsLimited) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("zebra{} = 1\n", i);
  const auto file = parse(text);
  ASSERT_TRUE(file) << file.error().line();
  ASSERT_EQ(file->errors.size(), max_config_errors + 1);
  EXPECT_EQ(file->errors.back().line(), "toprun.toml has 80 more errors");
}

// A key of 100,000 parts ended the program.
TEST(ConfigFile, AKeyHasAFewParts) {
  const auto key = [](int parts, const std::string& part = "a") {
    std::string text = part;
    for (int i = 1; i < parts; ++i) text += "." + part;
    return text;
  };
  const std::string error = "toprun.toml:2:513: a key has more than 256 parts";
  for (const std::string& text : {key(100'000) + " = 1", "[" + key(100'000) + "]",
                                  "[[" + key(300) + "]]", "x = { " + key(100'000) + " = 1 }",
                                  key(300, "\"a.b\"") + " = 1", key(300, " 'a' ") + " = 1"}) {
    EXPECT_TRUE(error_of("\n" + text).contains("a key has more than 256 parts"))
        << text.substr(0, 9);
  }
  EXPECT_TRUE(error_of("\n" + key(257) + " = 1").starts_with(error))
      << error_of("\n" + key(257) + " = 1");
  // What looks like one.
  for (const std::string& text :
       {"# " + key(1'000), "role = \"" + key(1'000) + "\"", "role = '''\n" + key(1'000) + "'''",
        "role = \"\\\"" + key(1'000) + "\"", "# " + std::string(1'000, '.')}) {
    EXPECT_EQ(error_of(text), "no error") << text.substr(0, 20);
  }
  std::string numbers = "1.5";
  for (int i = 0; i < 1'000; ++i) numbers += ", 1.5";
  EXPECT_FALSE(error_of("role = [" + numbers + "]").contains("256 parts"));
}

TEST(ConfigFile, TellsOfSecretsThatOthersCanRead) {
  auto file = *parse_config("env = { A = '1', HF_TOKEN = 'hf_very' }\n[profile.x]\nrole = 'r'\n",
                            {"toprun.toml", "/p", "/h"});
  const std::pair<unsigned, std::vector<std::string>> cases[] = {
      {0600, {}},
      {0000, {}},
      {0622, {}},
      {0644,
       {"toprun.toml:1: HF_TOKEN is a secret, and the file's mode 644 lets others read it: chmod "
        "600 toprun.toml, or export the variable and give -e HF_TOKEN (for pods, --secret-env)"}},
      {0640,
       {"toprun.toml:1: HF_TOKEN is a secret, and the file's mode 640 lets its group read it: "
        "chmod 600 toprun.toml, or export the variable and give -e HF_TOKEN (for pods, "
        "--secret-env)"}},
  };
  for (const auto& [mode, notes] : cases) {
    file.mode = mode;
    EXPECT_EQ(notes_on_open_secrets(file), notes) << fmt::format("{:o}", mode);
  }
}

// Every option that a project may give has a key, and what it takes is taken.
TEST(ConfigFile, EveryOptionIsAKeyOrIsRefusedByName) {
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.name.empty() || flag.group == options::Group::of_verb) continue;
    const std::string value = flag.is_switch() ? "true" : "'x'";
    const auto line = error_of(fmt::format("{} = {}", options::key_of(flag), value));
    const bool fits = line == "no error" || line.contains("cannot be set in a file");
    EXPECT_TRUE(fits || flag.id == options::FlagId::profile) << line;
  }
}

TEST(ConfigFile, WhatOneVerbHasForItselfIsNoKey) {
  EXPECT_EQ(error_of("sbom = true"),
            "toprun.toml:1:1: sbom cannot be set in a file; give --sbom on the command line");
  EXPECT_EQ(error_of("stable = true"), "no error");  // a launch's, not the file of topo order
}

}  // namespace
}  // namespace toprun::config
