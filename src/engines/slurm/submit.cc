#include "engines/slurm/submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/programs.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/variables.h"
#include "engines/slurm/words.h"

namespace toprun::engines {
namespace {

constexpr std::size_t most_choices = 20;  // named in one message

// Variables that Slurm's programs read and that do not describe a job (sbatch(1), sinfo(1)).
constexpr std::array kept_variables = {"SLURM_CONF",     "SLURM_CONF_SERVER", "SLURM_TIME_FORMAT",
                                       "SLURM_CLUSTERS", "SLURM_EXIT_ERROR",  "SLURM_DEBUG_FLAGS",
                                       "SLURM_JWT",      "SLURM_UMASK",       "SLURM_SACK_KEY",
                                       "SLURM_SACK_JWKS"};

bool describes_a_job(std::string_view name) {
  if (name == slurm::own_step_variable || name == slurm::slots_variable) return true;
  if (!name.starts_with("SLURM_") && !name.starts_with("SLURMD_") && !name.starts_with("SRUN_")) {
    return false;
  }
  return std::ranges::find(kept_variables, name) == kept_variables.end();
}

// "sbatch: error: Batch job submission failed: X" is X.
std::string_view without_label(std::string_view line) {
  for (const std::string_view label :
       {"sbatch: ", "salloc: ", "error: ", "fatal: ", "Batch job submission failed: ",
        "Job submit/allocate failed: ", "allocation failure: ", "Failed to allocate resources: "}) {
    if (line.starts_with(label)) line.remove_prefix(label.size());
  }
  return trim(line);
}

// The lines of a refusal, each once, with the site's own warnings.
std::string own_words(std::string_view text) {
  std::vector<std::string> said;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = without_label(trim(line));
    if (words.empty() || std::ranges::find(said, words) != said.end()) continue;
    if (said.size() < most_refusal_lines) said.emplace_back(words);
  }
  return said.empty() ? "it gave no reason" : printable(join(said, "; "));
}

std::string listed(std::vector<std::string> names) {
  const std::size_t count = names.size();
  names.resize(std::min(count, most_choices));
  return join(names, ", ") + (count > most_choices ? ", ..." : "");
}

// "--account A: did you mean B? yours are B, C" or "give --account: yours are B, C".
std::string advice(std::string_view option, const JobRequest& job,
                   const std::vector<std::string>& known, std::string_view whose) {
  const JobOption* given = job.find(option);
  std::string text = given == nullptr ? fmt::format("give {}", option)
                                      : fmt::format("change {} {}", option, *given->value);
  if (known.empty()) return text;
  if (given != nullptr) {
    if (const auto near = did_you_mean(*given->value, known); near && *near != *given->value) {
      text = fmt::format("did you mean {} {}?", option, *near);
    }
  }
  return fmt::format("{} ({} {})", text, whose, listed(known));
}

std::vector<std::string> partitions_with_limits(const SlurmFacts& facts) {
  std::vector<std::string> texts;
  for (const NodeKind& kind : facts.kinds) {
    std::string text = fmt::format("{} up to {}", kind.partition, kind.time_limit);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> node_kinds(const SlurmFacts& facts) {
  std::vector<std::string> texts;
  for (const NodeKind& kind : facts.kinds) {
    const std::string memory =
        kind.memory_mib > 0 ? fmt::format(", {} MiB of memory", kind.memory_mib) : std::string();
    texts.push_back(fmt::format("{}: {} nodes with {} CPUs{} and {} GPUs", kind.partition,
                                kind.nodes, kind.cpus, memory, kind.gpus));
  }
  return texts;
}

// "--nodes 4 --exclude n3": the options that choose nodes, of those that were given.
std::string choice_of_nodes(const JobRequest& job, std::initializer_list<std::string_view> names) {
  std::vector<std::string> given;
  for (const std::string_view name : names) {
    const JobOption* const option = job.find(name);
    if (option != nullptr) given.push_back(fmt::format("{} {}", name, *option->value));
  }
  return join(given, " ");
}

bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Slurm names neither the option nor the node that it refuses.
std::string advice_on_nodes(std::string_view text, const JobRequest& job) {
  const std::string chosen = choice_of_nodes(job, {"--nodelist", "--exclude", "--constraint"});
  if (chosen.empty()) return {};
  if (mentions(text, {"node name"})) {
    return fmt::format("check the names in {} (sinfo -N lists the cluster's nodes)",
                       choice_of_nodes(job, {"--nodelist", "--exclude"}));
  }
  if (mentions(text, {"feature"})) {
    return fmt::format("check {} (sinfo -o %f lists what nodes have)",
                       choice_of_nodes(job, {"--constraint"}));
  }
  if (!mentions(text, {"node configuration", "node count", "number of nodes"})) return {};
  const std::string nodes = choice_of_nodes(job, {"--nodes"});
  return nodes.empty()
             ? fmt::format("check {}: it may leave too few nodes", chosen)
             : fmt::format("check {}: it may not leave enough nodes for {}", chosen, nodes);
}

// Several things may be wrong: "Invalid account or account/partition combination".
std::string what_to_change(const std::string& said, const JobRequest& job, const SlurmFacts& facts,
                           const Choices& choices) {
  const std::string text = lower(said);
  std::vector<std::string> advices;
  if (mentions(text, {"account"})) {
    advices.push_back(advice("--account", job, choices.accounts, "yours are"));
  }
  if (mentions(text, {"qos", "quality of service"})) {
    advices.push_back(advice("--qos", job, choices.qos, "yours are"));
  }
  if (mentions(text, {"partition"})) {
    advices.push_back(advice("--partition", job, facts.partitions(), "choose one of:"));
  }
  if (mentions(text, {"time limit", "timelimit", "time-limit", "walltime", "--time"})) {
    advices.push_back(advice("--time", job, partitions_with_limits(facts), "the maximum is:"));
  }
  if (mentions(text, {"job array specification"}) && facts.max_array_size > 1) {
    advices.push_back(fmt::format(
        "this cluster takes task numbers up to {} (MaxArraySize {} in scontrol show config)",
        facts.max_array_size - 1, facts.max_array_size));
  }
  if (std::string about_nodes = advice_on_nodes(text, job); !about_nodes.empty()) {
    advices.push_back(std::move(about_nodes));
  }
  if (mentions(text, {"node configuration", "node count", "generic resource", "gres"})) {
    const std::vector<std::string> kinds = node_kinds(facts);
    advices.push_back(kinds.empty() ? "request less on each node"
                                    : fmt::format("request what is available ({})", listed(kinds)));
  }
  return join(advices, "; ");
}

Result<process::Finished> run_sbatch(std::vector<std::string> argv, const std::string& script,
                                     const Environment& environment) {
  auto finished = process::run(argv, environment, slurm_answer_limit(environment), script);
  if (!finished) finished.error()->fix = "check with squeue whether the job was submitted anyway";
  return finished;
}

}  // namespace

Environment without_job(const Environment& environment) {
  Environment out = environment;
  for (const auto& [name, value] : environment.variables()) {
    if (describes_a_job(name)) out.unset(name);
  }
  return out;
}

Error no_slurm(std::string_view program) {
  return Error{"cannot submit", fmt::format("no {} in PATH", program),
               "log in to a node with Slurm's commands, or run the script here with toprun SCRIPT",
               exit_failure};
}

std::optional<std::string> job_id_in(std::string_view text) {
  std::optional<std::string> id;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view word = trim(line.substr(0, line.find(';')));
    const auto number = parse_int(word);
    if (number && *number > 0) id = word;
  }
  return id;
}

Choices choices_in(std::string_view associations) {
  Choices choices;
  const auto add = [](std::vector<std::string>& names, std::string_view name) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) return;
    names.emplace_back(name);
  };
  for (const std::string_view line : split(associations, '\n')) {
    const std::vector<std::string_view> fields = split(trim(line), '|');
    if (fields.size() != 2) continue;
    add(choices.accounts, fields[0]);
    for (const std::string_view qos : split(fields[1], ',')) add(choices.qos, qos);
  }
  return choices;
}

Choices ask_choices(const Environment& environment) {
  const std::string user = user_name(environment, slurm_answer_limit(environment));
  const auto associations =
      process::output_of({"sacctmgr", "--noheader", "--parsable2", "show", "associations",
                          "user=" + user, "format=account,qos"},
                         environment, slurm_answer_limit(environment));
  return associations ? choices_in(*associations) : Choices{};
}

Error refusal(std::string_view stderr_text, const JobRequest& job, const SlurmFacts& facts,
              const Choices& choices) {
  const std::string said = own_words(stderr_text);
  if (const auto advice = slurm::advice_without_cluster(stderr_text); !advice.empty()) {
    constexpr std::string_view end = "Could not establish a configuration source";
    return Error{"cannot ask Slurm", said.contains(end) ? std::string(end) : said,
                 std::string(advice), exit_failure};
  }
  return Error{"Slurm refuses the job", said, what_to_change(said, job, facts, choices),
               exit_failure};
}

Result<std::string> submit_slurm(const std::string& script, const JobRequest& job,
                                 const SlurmFacts& facts, const Environment& environment) {
  const auto finished = TRY(run_sbatch({"sbatch", "--parsable"}, script, environment));
  if (finished.code != 0) {
    return std::unexpected(refusal(finished.err, job, facts, ask_choices(environment)));
  }
  pass_on_warnings(finished.err);
  if (auto id = job_id_in(finished.out)) return *std::move(id);
  return fail("sbatch --parsable did not print a job id", printable(trim(finished.out)),
              "check with squeue whether the job was submitted anyway");
}

Result<std::string> test_slurm(const std::string& script, const JobRequest& job,
                               const SlurmFacts& facts, const Environment& environment) {
  const auto finished = TRY(run_sbatch({"sbatch", "--test-only"}, script, environment));
  if (finished.code != 0) {
    return std::unexpected(refusal(finished.err, job, facts, ask_choices(environment)));
  }
  const std::string said = own_words(finished.err);
  return said + note_of_far_start(said, std::chrono::system_clock::now());
}

std::string note_of_far_start(std::string_view said, WallTime now) {
  constexpr std::string_view before = " to start at ";
  const std::size_t at = said.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = said.substr(at + before.size());
  const auto start = slurm::moment(rest.substr(0, rest.find(' ')));
  constexpr std::chrono::hours rounding{24};
  if (!start || *start - now < slurm::days_of_unlimited - rounding) return {};
  return "; such a far date usually means that it waits for a job without a time limit, whose end "
         "Slurm assumes after 365 days";
}

}  // namespace toprun::engines
