#include "cli/config/config.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/options/run_options.h"

namespace toprun::config {
namespace {

struct Text {
  std::string label;
  std::string text;
};

Config config_of(const std::vector<Text>& texts) {
  Config config;
  for (const Text& one : texts) {
    auto file = parse_config(one.text, {one.label, "/project", "/home/ada"});
    EXPECT_TRUE(file) << file.error().line();
    config.files.push_back(*std::move(file));
  }
  return config;
}

options::Split split_of(std::string_view line, options::Command command) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  auto split = options::split_verb(argv, command);
  EXPECT_TRUE(split) << split.error().line();
  return *split;
}

// The words that files add to a call, with their origins.
std::string added(const std::vector<Text>& texts, std::string_view line,
                  const Environment& environment = {},
                  options::Command command = options::Command::run) {
  const Config config = config_of(texts);
  const options::Split split = split_of(line, command);
  const auto profile = choose_profile(config, split, environment);
  if (!profile) return profile.error().line();
  std::vector<std::string> all;
  for (const options::ParsedOption& option :
       options_of(config, *profile, split, command, environment)) {
    all.push_back(fmt::format("{} ({})", options::word_of(option), option.origin));
  }
  return join(all, ", ");
}

TEST(Config, AFlagGoesBeforeAVariableAndThatBeforeAFile) {
  const std::vector<Text> file = {{"f", "tee = 3\nfold = true"}};
  struct Row {
    std::string_view line;
    Environment environment;
    std::string_view added;
  };
  const Row rows[] = {
      {"s.py", {}, "--fold (f:2), --tee=3 (f:1)"},
      {"--tee 1 s.py", {}, "--fold (f:2)"},
      {"-t1 --fold s.py", {}, ""},
      {"s.py", {{"PET_TEE", "1"}}, "--fold (f:2)"},
      {"s.py", {{"PET_TEE", ""}}, "--fold (f:2), --tee=3 (f:1)"},
      {"s.py", {{"TOPRUN_FOLD", "0"}}, "--tee=3 (f:1)"},
      {"s.py --tee 1", {}, "--fold (f:2), --tee=3 (f:1)"},  // the script's own
  };
  for (const Row& row : rows) EXPECT_EQ(added(file, row.line, row.environment), row.added);
  EXPECT_EQ(added({{"f", "shutdown-timeout = 5"}}, "s", {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "9"}}),
            "");
}

TEST(Config, TheStrongerFileDecidesKeyByKey) {
  EXPECT_EQ(added({{"p", "tee = 3"}, {"u", "tee = 1\nrole = 'r'"}, {"s", "role = 'x'"}}, "s.py"),
            "--tee=3 (p:1), --role=r (u:2)");
  EXPECT_EQ(added({{"p", "fold = false"}, {"u", "fold = true\ntee = 1"}}, "s.py"), "--tee=1 (u:2)");
}

TEST(Config, ListsAreReplacedAndVariablesAccumulate) {
  const std::vector<Text> files = {{"p", "modules = ['a', 'b']\nenv = {A = '1'}"},
                                   {"u", "modules = ['c']\nenv = {A = '2', B = '3'}"}};
  EXPECT_EQ(added(files, "s"),
            "--env=A=1 (p:2), --modules=a (p:1), --modules=b (p:1), --env=B=3 (u:2)");
  EXPECT_EQ(added(files, "--modules d -e B=4 -e C=5 s"), "--env=A=1 (p:2)");
  EXPECT_EQ(added(files, "-e A s", {{"TOPRUN_MODULES", "x"}}), "--env=B=3 (u:2)");
  EXPECT_EQ(added({{"p", "modules = []"}, {"u", "modules = ['c']"}}, "s"), "");
}

TEST(Config, ProfilesGoBeforeEverythingOutsideOfThem) {
  const std::vector<Text> files = {
      {"p", "nnodes = 8\ntee = 3\n[profile.one]\nnnodes = 1"},
      {"u", "default-profile = 'quiet'\n[profile.quiet]\ntee = 0\n[profile.one]\ntee = 2"}};
  EXPECT_EQ(added(files, "s"), "--tee=0 (u:3), --nnodes=8 (p:1)");
  EXPECT_EQ(added(files, "--profile one s"), "--nnodes=1 (p:4), --tee=2 (u:5)");
  EXPECT_EQ(added(files, "s", {{"TOPRUN_PROFILE", "one"}}), "--nnodes=1 (p:4), --tee=2 (u:5)");
  EXPECT_EQ(added(files, "--profile quiet s", {{"TOPRUN_PROFILE", "one"}}),
            "--tee=0 (u:3), --nnodes=8 (p:1)");
}

TEST(Config, AProfileThatNoFileHas) {
  const std::vector<Text> files = {{"p", "[profile.big]"}, {"u", "[profile.debug]"}};
  EXPECT_EQ(added(files, "--profile bgi s"),
            "--profile bgi: p and u have no profile bgi; did you mean big?");
  EXPECT_EQ(added(files, "s", {{"TOPRUN_PROFILE", "x"}}),
            "TOPRUN_PROFILE=x: p and u have no profile x; choose one of: big, debug");
  EXPECT_EQ(added({{"p", "tee = 1\ndefault-profile = 'x'"}}, "s"),
            "p:2: default-profile = x: p has no profile x; add the profile to the file: a line "
            "[profile.x], followed by the profile's options");
  EXPECT_EQ(added({}, "--profile x s"),
            "--profile x: no configuration file was read; toprun config show lists the places that "
            "were searched");
}

TEST(Config, WhoSaysOneThingHasSpokenAboutItsRivals) {
  struct Row {
    std::string file;
    std::string_view line;
    Environment environment;
    options::Command command;
    std::string_view added;
  };
  const Row rows[] = {
      {"hostfile = '/h'", "--hosts a s", {}, options::Command::run, ""},
      {"hosts = 'a'", "s", {{"TOPRUN_HOSTFILE", "/h"}}, options::Command::run, ""},
      {"conda = 'c'", "--venv e s", {}, options::Command::run, ""},
      {"nodes = 8", "--nnodes 4 s", {}, options::Command::submit, ""},
      {"nnodes = 8", "--nodes 4 s", {}, options::Command::submit, ""},
      {"gpus-per-node = 8", "--gpus 4 s", {}, options::Command::submit, ""},
      {"gpus-per-node = 8", "--gres gpu:4,nic:1 s", {}, options::Command::submit, ""},
      {"gpus-per-node = 8",
       "--gres nic:1 s",
       {},
       options::Command::submit,
       "--gpus-per-node=8 (f:1)"},
      {"gres = 'gpu:2'", "--gpus-per-node 8", {}, options::Command::shell, ""},
      {"parallel = 'tp=8'", "--order name s", {}, options::Command::run, ""},
      {"parallel = 'tp=8'",
       "--order topology s",
       {},
       options::Command::run,
       "--parallel=tp=8 (f:1)"},
      {"order = 'topology'",
       "--parallel tp=8 s",
       {},
       options::Command::run,
       "--order=topology (f:1)"},
      {"order = 'name'", "--parallel tp=8 s", {}, options::Command::run, ""},
      {"nnodes = 8", "--standalone s", {}, options::Command::run, ""},
      {"standalone = true", "--rdzv-endpoint h s", {}, options::Command::run, ""},
      {"hosts = 'a'", "--node-rank 0 --master-addr h s", {}, options::Command::run, ""},
      {"hosts = 'a'", "--nnodes 1 s", {}, options::Command::run, "--hosts=a (f:1)"},
      {"nnodes = 8", "s", {{"PET_STANDALONE", "0"}}, options::Command::run, "--nnodes=8 (f:1)"},
      // In one table they stand as they are: the checks of a command line are theirs too.
      {"hosts = 'a'\nhostfile = '/h'",
       "s",
       {},
       options::Command::run,
       "--hostfile=/h (f:2), --hosts=a (f:1)"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(added({{"f", row.file}}, row.line, row.environment, row.command), row.added)
        << row.file << ' ' << row.line;
  }
  EXPECT_EQ(added({{"p", "venv = '/e'"}, {"u", "conda = 'c'"}}, "s"), "--venv=/e (p:1)");
  EXPECT_EQ(added({{"p", "venv = false"}, {"u", "conda = 'c'"}}, "s"), "--conda=c (u:1)");
}

TEST(Config, EachVerbTakesTheKeysThatItKnows) {
  const std::vector<Text> file = {{"f", "nodes = 2\ntee = 3\nverbose = true\nwait = true"}};
  EXPECT_EQ(added(file, "s", {}, options::Command::run), "--tee=3 (f:2), --verbose (f:3)");
  EXPECT_EQ(added(file, "s", {}, options::Command::submit),
            "--nodes=2 (f:1), --tee=3 (f:2), --verbose (f:3), --wait (f:4)");
  EXPECT_EQ(added(file, "", {}, options::Command::shell), "--nodes=2 (f:1), --verbose (f:3)");
  EXPECT_EQ(added({{"f", "hosts = 'a'"}}, "s", {}, options::Command::submit), "");
}

TEST(Config, SlurmsOwnVariablesGoBeforeAFile) {
  const std::vector<Text> file = {{"f", "partition = 'p'\nexclusive = true"}};
  const Environment environment = {{"SBATCH_PARTITION", "x"}, {"SBATCH_EXCLUSIVE", ""}};
  EXPECT_EQ(added(file, "s", environment, options::Command::submit), "");
  EXPECT_EQ(added(file, "", environment, options::Command::shell),
            "--exclusive (f:2), --partition=p (f:1)");
  EXPECT_EQ(added(file, "", {{"SALLOC_PARTITION", "x"}}, options::Command::shell),
            "--exclusive (f:2)");
}

TEST(Config, WhoReadsNone) {
  const Environment agent = {{"TOPRUN_STEP", "1"}};
  struct Row {
    std::string_view line;
    Environment environment;
    std::string_view expected;
  };
  const Row rows[] = {
      {"s", {}, "yes"},
      {"s", agent, "no"},
      {"s", {{"TOPRUN_SHELL", "/bin/sh"}}, "no"},
      {"--no-config s", {}, "no"},
      {"s", {{"TOPRUN_NO_CONFIG", "1"}}, "no"},
      {"s", {{"TOPRUN_NO_CONFIG", "0"}}, "yes"},
      {"s", {{"TOPRUN_NO_CONFIG", "x"}}, "TOPRUN_NO_CONFIG=x: must be 1 or 0"},
      {"--no-config s", {{"TOPRUN_PROFILE", "p"}}, "no"},
      {"--no-config --profile p s",
       {},
       "--no-config and --profile: the first option forbids configuration files, and the second "
       "option needs them; leave one "
       "of "
       "them out"},
  };
  for (const Row& row : rows) {
    const auto reads = reads_config(split_of(row.line, options::Command::run), row.environment);
    EXPECT_EQ(!reads ? reads.error().line() : *reads ? "yes" : "no", row.expected);
  }
  const auto torchrun = options::split({"torchrun", "s"});
  EXPECT_FALSE(*reads_config(*torchrun, {}));
}

TEST(Config, SecretsTravelInTheEnvironment) {
  const options::Split split = split_of("s", options::Command::run);
  auto options = options_of(config_of({{"f", "env = { HF_TOKEN = 'x', A = '1' }"}}), std::nullopt,
                            split, options::Command::run, {});
  Environment environment = {{"HF_TOKEN", "old"}};
  hide_secrets(options, environment);
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(options::word_of(options[0]), "--env=A=1");
  EXPECT_EQ(options::word_of(options[1]), "--env=HF_TOKEN");
  EXPECT_EQ(environment.get("HF_TOKEN"), "x");
  EXPECT_FALSE(environment.has("A"));
}

TEST(Config, SecretsOfTheEnvironmentAreTold) {
  options::Split split = split_of("-e HF_TOKEN -e A -e UNSET_TOKEN s", options::Command::run);
  Environment environment = {{"HF_TOKEN", "x"}, {"A", "1"}};
  EXPECT_EQ(hide_secrets(split.options, environment), std::vector<std::string>{"HF_TOKEN"});
}

TEST(Config, TypedSecretsAreInNoWordForAgents) {
  for (const auto& [line, expected] : std::vector<std::pair<std::string, std::string>>{
           {"toprun -e HF_TOKEN=x -e A=1 s.py HF_TOKEN=x",
            "toprun -e HF_TOKEN -e A=1 s.py HF_TOKEN=x"},
           {"toprun --env=HF_TOKEN=x s.py", "toprun --env=HF_TOKEN s.py"},
           {"toprun --env HF_TOKEN=x s.py", "toprun --env HF_TOKEN s.py"},
           {"toprun -e HF_TOKEN=x --notify https://h/x s.py",
            "toprun -e HF_TOKEN --env TOPRUN_NOTIFY s.py"},
           {"toprun --notify=https://h/x -e HF_TOKEN=x s.py --notify=https://h/x",
            "toprun --env=TOPRUN_NOTIFY -e HF_TOKEN s.py --notify=https://h/x"},
           {"toprun --notify true -e HF_TOKEN=x s.py", "toprun --notify true -e HF_TOKEN s.py"},
           {"toprun -eHF_TOKEN=x s.py", "toprun -eHF_TOKEN s.py"}}) {
    std::vector<std::string> argv;
    for (const std::string_view word : words(line)) argv.emplace_back(word);
    const auto typed = options::split(argv);
    ASSERT_TRUE(typed) << line;
    options::Split hidden = *typed;
    Environment environment;
    hide_secrets(hidden.options, environment);
    EXPECT_EQ(environment.get("HF_TOKEN"), "x");
    EXPECT_EQ(join(words_without_secrets(argv, *typed, hidden), " "), expected);
  }
}

TEST(Config, SecretsAreNotShown) {
  const std::pair<std::string, std::string_view> rows[] = {
      {"env = { HF_TOKEN = 'x' }", "HF_TOKEN=<secret>"},
      {"env = ['HF_TOKEN']", "HF_TOKEN"},
      {"env = { PROXY = 'user:password@host' }", "PROXY=<secret>"},
      {"env = { A = '1' }", "A=1"},
      {"notify = 'https://hooks.example.org/x'", "<secret>"},
      {"notify = 'mail me'", "mail me"},
      {"role = 'r@x'", "r@x"},
      {"fold = true", "true"}};
  for (const auto& [text, shown] : rows) {
    const auto options =
        options_of(config_of({{"f", text}}), std::nullopt, split_of("s", options::Command::run),
                   options::Command::run, {});
    EXPECT_EQ(shown_value(options.at(0)), shown);
  }
}

// Files' options in front of the line's own, as with_config() puts them there.
options::Split with_file(const std::string& text, std::string_view line, options::Command command) {
  options::Split split = split_of(line, command);
  const auto options = options_of(config_of({{"f", text}}), std::nullopt, split, command, {});
  split.options.insert(split.options.begin(), options.begin(), options.end());
  return split;
}

TEST(Config, AgentsGetTheWordsThatFilesGave) {
  const options::Split split =
      with_file("tee = 3\nfold = true", "--role r s.py a", options::Command::run);
  EXPECT_EQ(join(words_with_config({"toprun", "--role", "r", "s.py", "a"}, split), " "),
            "toprun --fold --tee=3 --role r s.py a");
  EXPECT_EQ(join(words_with_config({"toprun", "run", "--role", "r", "s.py", "a"}, split), " "),
            "toprun run --fold --tee=3 --role r s.py a");
}

TEST(Config, ErrorsNameTheFilesLine) {
  struct Row {
    std::string text;
    std::string_view error;
  };
  const Row rows[] = {
      {"tee = 9", "f:1: tee = 9: must be 0 (none)"},
      {"\nnnodes = 0", "f:2: nnodes = 0: must be a number of nodes"},
      {"hosts = ''", "f:1: hosts = '': must not be empty"},
      {"hosts = 'a'\nhostfile = '/h'", "f:1 and f:2: both name the hosts"},
      {"env = ['1A']", "f:1: env = 1A: '1A' is not the name of a variable"},
      {"modules = 'a,,b'", "f:1: modules = a,,b: '' is not the name of a module"},
      {"nnodes = 2\nstandalone = true", "f:2 is for one node, but f:1 says 2; drop f:2"},
  };
  for (const Row& row : rows) {
    const auto options =
        options::run_options(with_file(row.text, "s.py", options::Command::run), {"toprun", "s.py"},
                             {}, [](const std::string&) { return true; });
    ASSERT_FALSE(options) << row.text;
    EXPECT_TRUE(options.error().line().starts_with(row.error)) << options.error().line();
    EXPECT_EQ(options.error()->exit_code, exit_usage);
  }
}

TEST(Config, AFilesNodeCountIsNotTheCommandLines) {
  const auto options =
      options::run_options(with_file("nnodes = 1", "s.py", options::Command::run),
                           {"toprun", "s.py"}, {}, [](const std::string&) { return true; });
  ASSERT_TRUE(options);
  EXPECT_EQ(options->options.nnodes.value, 1);
  EXPECT_EQ(options->options.nnodes.source, "f:1");
}

}  // namespace
}  // namespace toprun::config
