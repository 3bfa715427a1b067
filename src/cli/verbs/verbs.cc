#include "cli/verbs/verbs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "cli/benchmark/files.h"
#include "cli/config/config.h"
#include "cli/config/config_file.h"
#include "cli/options/call.h"
#include "cli/options/command_lines.h"
#include "cli/options/split.h"
#include "cli/verbs/cluster.h"
#include "cli/verbs/help/completion.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/run_verbs.h"
#include "engines/queue.h"

namespace toprun::cli {
namespace {

using options::Command;
using options::FlagId;

constexpr std::array verbs = {
    Verb{Command::submit, "SCRIPT ...", "write a batch job and submit it", run_submit},
    Verb{Command::shell, "", "open a shell in an interactive allocation", run_shell},
    Verb{Command::setup, "[PACKAGE...]", "build an environment or an image in a job", run_setup},
    Verb{Command::jobs, "", "list your waiting and running jobs", run_jobs},
    Verb{Command::status, "ID", "show the state, nodes and files of a job", run_status},
    Verb{Command::logs, "ID", "show a job's output; -f until the job ends", run_logs},
    Verb{Command::stacks, "[JOB]", "show the Python stack of each rank of a job", run_stacks},
    Verb{Command::report, "JOB", "write a job's report as JSON or as a page", run_report},
    Verb{Command::top, "[JOB]", "show a running job live on the terminal", run_top},
    Verb{Command::eta, "[ID]", "show when waiting jobs will probably start", run_eta},
    Verb{Command::cancel, "ID...", "end jobs, or send them a signal", run_cancel},
    Verb{Command::grow, "ID", "let waiting nodes join an elastic job", run_grow},
    Verb{Command::cluster, "", "show partitions, free nodes, file systems", run_cluster},
    Verb{Command::topo, "VERB ...", "show, order, draw or score the nodes of a network", nullptr},
    Verb{Command::topo_show, "", "show the domains of the network and their nodes", run_topo_show},
    Verb{Command::topo_order, "", "list the nodes in toprun's order, for people and programs",
         run_topo_order},
    Verb{Command::topo_draw, "", "draw the domains and the ring through them", run_topo_draw},
    Verb{Command::topo_score, "", "show what different orders of the nodes cost", run_topo_score},
    Verb{Command::topo_convert, "", "write the network in a format for Slurm or Kubernetes",
         run_topo_convert},
    Verb{Command::net, "VERB", "show RDMA adapters and the NCCL settings for them", nullptr},
    Verb{Command::net_show, "", "show RDMA ports and interfaces, which of them a job uses, and why",
         run_net_show},
    Verb{Command::net_env, "", "show the variables that a job's processes get on this machine",
         run_net_env},
    Verb{Command::doctor, "", "find what is wrong with this machine for a job", run_doctor},
    Verb{Command::bench, "COLLECTIVE", "measure a collective between the ranks of a job",
         run_bench},
    Verb{Command::bench_pairs, "", "find which node or link is slow", run_bench},
    Verb{Command::bench_compare, "BEFORE AFTER", "show which results became slower or faster",
         benchmark::run_bench_compare},
    Verb{Command::bench_import, "FILE", "read results of other programs",
         benchmark::run_bench_import},
    Verb{Command::bench_history, "[FILE]", "compare recorded results with earlier ones",
         benchmark::run_bench_history},
    Verb{Command::config, "VERB", "show or write toprun.toml", nullptr},
    Verb{Command::config_show, "", "show the effective settings, and where each comes from",
         run_config_show},
    Verb{Command::config_init, "", "write a toprun.toml with this cluster's partitions and GPUs",
         run_config_init},
    Verb{Command::store, "", "serve PyTorch's TCPStore without a job", run_store},
    Verb{Command::completion, "SHELL", "print a shell completion script", run_completion},
    Verb{Command::man, "[VERB]", "show the manual page of a verb", run_man},
    Verb{Command::help, "[VERB]", "show the help of a verb or option", run_help},
    Verb{Command::version, "", "show the version of toprun", run_version},
};

std::string_view name_of(const Verb& verb) {
  return options::line_of(verb.command).name;
}

std::vector<std::string> names_of(std::string_view family) {
  std::vector<std::string> names;
  for (const Verb* verb : verbs_of(family)) names.emplace_back(last_word_of(*verb));
  return names;
}

// -h and --help end the reading of a command line.
std::optional<int> answer_help(const options::Split& split, Command command) {
  if (split.options.empty()) return std::nullopt;
  const FlagId last = split.options.back().flag->id;
  if (last == FlagId::help_short) return print(short_help(command));
  return last == FlagId::help ? std::optional(print(full_help(command))) : std::nullopt;
}

// Queries about jobs and the cluster go to the engine that TOPRUN_ON names, or in its place --on or
// toprun.toml. A verb that submits reads --on itself.
Result<void> set_engine(Command command, const options::Split& split, Environment& environment) {
  const options::Flag* const on = options::find_flag("--on", command);
  if (on == nullptr || command == Command::submit || command == Command::setup) return {};
  const auto argument = options::argument_of(*on, split, environment);
  if (!argument || argument->from_variable) return {};
  const std::string& engine = argument->value;
  const bool is_for_setup = !argument->is_typed() && engine == "local";
  if (!is_for_setup && !engines::queue_kind(engine)) {
    return std::unexpected(engines::unknown_engine(argument->label(), engine));
  }
  environment.set("TOPRUN_ON", engine);
  return {};
}

Result<int> run(const AskedVerb& asked, const Environment& environment) {
  const Verb& verb = *asked.verb;
  if (verb.run == nullptr) return answer_for(asked);
  const std::vector<std::string> words(asked.arguments.begin(), asked.arguments.end());
  if (verb.command == Command::completion) {
    if (const auto code = answer_shell(words)) return *code;
  }
  const auto split = TRY(options::split_verb(words, verb.command));
  if (const auto code = answer_help(split, verb.command)) return *code;
  auto whole = TRY(config::with_config(split, verb.command, environment));
  TRY(set_engine(verb.command, whole.split, whole.environment));
  auto plain = config::words_without_secrets(words, split, whole.split);
  return verb.run(
      {verb.command, std::move(whole.split), std::move(whole.environment), std::move(plain)});
}

// A file, or a folder that Python runs as a program.
bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error)
             ? std::filesystem::exists(path / "__main__.py", error)
             : std::filesystem::exists(path, error);
}

}  // namespace

std::span<const Verb> all_verbs() {
  return verbs;
}

std::vector<const Verb*> verbs_of(std::string_view family) {
  std::vector<const Verb*> found;
  for (const Verb& verb : verbs) {
    const auto name = words(name_of(verb));
    if (name.size() == 1 ? family.empty() : name.front() == family) found.push_back(&verb);
  }
  return found;
}

std::string_view last_word_of(const Verb& verb) {
  return words(name_of(verb)).back();
}

std::optional<AskedVerb> find_verb(std::span<const std::string> words) {
  std::optional<AskedVerb> found;
  for (const Verb& verb : verbs) {
    const auto name = toprun::words(name_of(verb));
    if (name.size() > words.size() || !std::ranges::equal(name, words.first(name.size()))) continue;
    found = {&verb, words.subspan(name.size())};  // topo order stands behind topo
  }
  return found;
}

Result<int> answer_for(const AskedVerb& family) {
  const std::string name(name_of(*family.verb));
  const std::vector<std::string> known = names_of(name);
  if (family.arguments.empty()) {
    return usage(name, "it needs a verb", fmt::format("choose one of: {}", join(known, ", ")));
  }
  const std::string& word = family.arguments.front();
  if (word == "-h" || word == "--help") return print(full_help(family.verb->command));
  if (word.starts_with('-')) {
    return usage(fmt::format("{} {}", name, word), fmt::format("{} needs a verb first", name),
                 fmt::format("choose one of: {}", join(known, ", ")));
  }
  return usage(fmt::format("{} {}", name, word), "there is no such verb",
               config::nearest_or_all(word, known));
}

std::optional<int> run_verb(const std::vector<std::string>& argv, const Environment& environment) {
  if (argv.empty() || options::is_torchrun(argv)) return std::nullopt;
  const auto asked = find_verb(std::span(argv).subspan(1));
  if (!asked) return std::nullopt;
  const auto code = run(*asked, environment);
  if (code) return *code;
  const std::vector<std::string> words(asked->arguments.begin(), asked->arguments.end());
  const bool is_wrong_by_itself =
      asked->verb->run == nullptr || !options::split_verb(words, asked->verb->command);
  return is_wrong_by_itself ? refuse_line(code.error(), environment) : give_up(code.error());
}

bool is_told_by_first(const Environment& environment, std::string_view parent) {
  const auto is_later = [&](const char* name) {
    return environment.non_empty(name).value_or("0") != "0";
  };
  if (parent == "slurmstepd") return is_later("SLURM_PROCID") && !environment.has("SLURM_HET_SIZE");
  constexpr std::array open_mpi = {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
  const bool has_one_program = environment.non_empty("OMPI_NUM_APP_CTX") == "1";
  return std::ranges::find(open_mpi, parent) != open_mpi.end() && has_one_program &&
         is_later("OMPI_COMM_WORLD_RANK");
}

int refuse_line(const Error& error, const Environment& environment) {
  const auto parent = read_file(fmt::format("/proc/{}/comm", ::getppid()));
  if (!parent || !is_told_by_first(environment, trim(*parent))) return give_up(error);
  // mpirun and srun --kill-on-bad-exit end all processes after the first that fails.
  constexpr std::chrono::seconds for_the_first_to_tell{1};
  std::this_thread::sleep_for(for_the_first_to_tell);
  return error->exit_code;
}

Result<void> check_script_is_no_verb(const options::Split& split) {
  const bool is_script = split.script && !split.called_torchrun();
  const auto names_a_program = [](const options::ParsedOption& option) {
    return option.flag->name == "--module" || option.flag->name == "--no-python";
  };
  if (!is_script || is_program(*split.script) ||
      std::ranges::any_of(split.options, names_a_program)) {
    return {};
  }
  std::vector<std::string> words = {*split.script};
  words.insert(words.end(), split.arguments.begin(), split.arguments.end());
  const auto asked = find_verb(words);
  if (!asked) return {};
  const std::string_view name = name_of(*asked->verb);
  const bool is_in_a_job = split.command == Command::submit || split.command == Command::shell;
  return usage(
      *split.script, "this is a verb of toprun, and no script has this name",
      is_in_a_job ? fmt::format("to run it in a job, write `sbatch -N 2 --wrap 'srun toprun {}{}'`",
                                name, asked->arguments.empty() ? "" : " ...")
                  : fmt::format("write `toprun {}`, and options after it", name));
}

std::optional<std::string> nearest_verb(std::string_view name) {
  constexpr std::size_t least_letters = 2;
  constexpr std::size_t least_letters_of_verb = 4;  // "topology", but not "runner"
  const std::vector<std::string> names = names_of("");
  if (auto near = did_you_mean(name, names)) return near;
  if (name.size() < least_letters) return std::nullopt;
  const auto related = std::ranges::find_if(names, [&](const std::string& verb) {
    return verb.starts_with(name) ||
           (verb.size() >= least_letters_of_verb && name.starts_with(verb));
  });
  return related == names.end() ? std::nullopt : std::optional(*related);
}

}  // namespace toprun::cli
