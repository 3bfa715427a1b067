#include "pods/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"
#include "container/image.h"
#include "jobs/run_words.h"
#include "options/run_options.h"
#include "options/values.h"
#include "plan/packed_words.h"
#include "pods/option_reader.h"
#include "pods/placement.h"
#include "scheduler/kubernetes/jobs.h"
#include "scheduler/kubernetes/kubectl.h"
#include "scheduler/kubernetes/object_name.h"
#include "scheduler/program_words.h"
#include "scheduler/sleeping.h"
#include "scheduler/slurm/facts.h"

namespace toprun::pods {
namespace {

using options::FlagId;
using options::Given;
using scheduler::kubernetes::Operator;
using scheduler::kubernetes::Workload;

constexpr int max_gpus_per_pod = 1'024;
constexpr int max_cpus_per_pod = 100'000;
constexpr int max_resource = 1'000'000;
constexpr const char* interactive_name = "interactive";

// Options of a Slurm job that mean the same of a job of pods.
constexpr std::array shared_options = {"--nodes", "--gpus-per-node", "--cpus-per-task", "--mem",
                                       "--time",  "--job-name",      "--chdir"};

bool is_given(const options::Split& split, FlagId id) {
  return std::ranges::any_of(split.options, [&](const auto& one) { return one.flag->id == id; });
}

// Words for Slurm alone: an error where they are typed, else a note, because a project's file may
// serve several engines.
Result<void> check_others(const options::Split& split, std::vector<std::string>& notes) {
  for (const options::GivenOption& option : split.options) {
    const FlagId id = option.flag->id;
    const bool is_slurms =
        id == FlagId::slurm_arg || id == FlagId::after ||
        (id == FlagId::slurm_option &&
         std::ranges::find(shared_options, option.flag->name) == shared_options.end());
    if (!is_slurms) continue;
    const std::string label = options::as_given(option).label();
    if (option.origin.empty()) return usage(label, "is for Slurm alone", "leave it out");
    notes.push_back(label + " has no effect: it is for Slurm alone");
  }
  return {};
}

Result<std::string> image_of(const plan::Options& run) {
  const auto image = container::parse_image(run.container.image);
  if (run.container.empty()) {
    return usage("--on kubernetes", "a pod needs an image", "say --container IMAGE");
  }
  if (!image) return std::unexpected(image.error());
  if (!image->is_path()) return container::registry_reference(*image);
  return usage("--container " + run.container.image, "pods take their image from a registry",
               "name one there, as docker://nvcr.io/nvidia/pytorch:25.03-py3");
}

Result<scheduler::kubernetes::Claim> parse_claim(const Given& given) {
  const auto parts = toprun::split(given.value, ':');
  const bool good = parts.size() >= 2 && parts.size() <= 3 && !parts[0].empty() &&
                    parts[1].starts_with('/') && (parts.size() == 2 || parts[2] == "ro");
  if (!good) {
    return usage(given.label(), "is no NAME:PATH or NAME:PATH:ro",
                 "write it as scratch:/scratch, the path absolute");
  }
  scheduler::kubernetes::Claim claim;
  claim.name = parts[0];
  claim.path = parts[1];
  claim.read_only = parts.size() == 3;
  return claim;
}

// Slurm's memory, in MiB unless a letter says otherwise, as Kubernetes writes it; 0 is no limit.
Result<std::optional<std::string>> parse_memory(const Given& given) {
  const std::string& text = given.value;
  const std::string letters = "KMGT";
  const bool has_unit = !text.empty() && letters.find(text.back()) != std::string::npos;
  const auto number = parse_int(has_unit ? text.substr(0, text.size() - 1) : text);
  if (!number || *number < 0) return usage(given.label(), "is no size", "write it as 64G");
  if (*number == 0) return std::optional<std::string>();
  return std::optional(fmt::format("{}{}i", *number, has_unit ? text.back() : 'M'));
}

Result<void> set_nodes(Workload& job, const plan::Options& run, const OptionReader& reader) {
  job.nodes = run.standalone ? 1 : run.nnodes.value.value_or(1);
  job.least_nodes = run.min_nodes;
  const auto given = reader.one("--nodes");
  if (!given) return {};
  const std::size_t dash = given->value.find('-');
  Given colons = *given;
  if (dash != std::string::npos) colons.value[dash] = ':';
  const auto count = options::parse_node_count(colons);
  if (!count) return std::unexpected(count.error());
  job.nodes = count->most;
  if (count->least < count->most) job.least_nodes = count->least;
  return {};
}

Result<void> set_number(std::optional<int>& out, const OptionReader& reader, std::string_view name,
                        int least, int most) {
  const auto given = reader.one(name);
  if (!given) return {};
  const auto number = options::parse_number(*given, least, most);
  if (!number) return std::unexpected(number.error());
  out = *number;
  return {};
}

Result<void> set_memory(std::optional<std::string>& out, const OptionReader& reader,
                        std::string_view name) {
  const auto given = reader.one(name);
  if (!given) return {};
  auto memory = parse_memory(*given);
  if (!memory) return std::unexpected(memory.error());
  out = *std::move(memory);
  return {};
}

Result<void> set_share_of_a_node(Workload& job, const OptionReader& reader) {
  std::optional<int> gpus;
  auto done = set_number(gpus, reader, "--gpus-per-node", 0, max_gpus_per_pod);
  if (done) done = set_number(job.cpus, reader, "--cpus-per-task", 1, max_cpus_per_pod);
  if (done) done = set_memory(job.memory, reader, "--mem");
  if (done) done = set_memory(job.shared_memory, reader, "--shm");
  if (!done) return done;
  job.gpus = gpus.value_or(0);
  job.host_network = reader.has("--host-network");
  job.locks_memory = reader.has("--ipc-lock");
  for (const Given& given : reader.all("--extended-resource")) {
    const auto pair = parse_pair(given);
    if (!pair) return std::unexpected(pair.error());
    const auto count = parse_int(pair->second);
    if (!count || *count < 1 || *count > max_resource) {
      return usage(given.label(), "is no NAME=N", "write it as rdma/rdma=1");
    }
    job.resources.emplace_back(pair->first, static_cast<int>(*count));
  }
  return {};
}

Result<void> set_limit(Workload& job, const OptionReader& reader) {
  const auto given = reader.one("--time");
  if (!given) return {};
  const auto seconds = scheduler::slurm_seconds(given->value);
  if (!seconds || *seconds < 1) {
    return usage(given->label(), "is no time", "write minutes, H:MM:SS or D-HH:MM:SS");
  }
  job.limit = std::chrono::seconds(*seconds);
  return {};
}

std::string name_of_script(const plan::Options& run) {
  std::string_view name = run.script;
  while (name.ends_with('/')) name.remove_suffix(1);
  name = name.substr(name.rfind('/') + 1);
  if (name.ends_with(".py")) name.remove_suffix(3);
  return scheduler::kubernetes::nearest_label(name);
}

Result<void> set_names(Workload& job, const plan::Options& run, const OptionReader& reader) {
  job.name = name_of_script(run);
  job.name_is_beginning = true;
  if (const auto given = reader.one("--job-name")) {
    auto name = scheduler::kubernetes::job_name(given->value, given->source);
    if (!name) return std::unexpected(name.error());
    job.name = *std::move(name);
    job.name_is_beginning = false;
  }
  if (const auto given = reader.one("--namespace")) {
    if (!scheduler::kubernetes::is_label(given->value)) {
      return usage(
          given->label(), "is no name of a namespace",
          fmt::format("say --namespace {}", scheduler::kubernetes::nearest_label(given->value)));
    }
    job.space = given->value;
  }
  if (const auto given = reader.one("--runtime")) {
    if (!scheduler::kubernetes::is_label(given->value)) {
      return usage(given->label(), "is no name of a training runtime",
                   "kubectl get clustertrainingruntimes tells which there are");
    }
    job.runtime = given->value;
  }
  if (const auto given = reader.one("--chdir")) {
    if (!given->value.starts_with('/')) {
      return usage(given->label(), "must be a folder of the image or of a claim",
                   "write an absolute path");
    }
    job.folder = given->value;
  }
  return {};
}

Result<void> set_mounts(Workload& job, const OptionReader& reader) {
  for (const Given& given : reader.all("--pvc")) {
    auto claim = parse_claim(given);
    if (!claim) return std::unexpected(claim.error());
    job.claims.push_back(*std::move(claim));
  }
  for (const Given& given : reader.all("--annotation")) {
    auto pair = parse_pair(given);
    if (!pair) return std::unexpected(pair.error());
    job.annotations.push_back(*std::move(pair));
  }
  return {};
}

// The image is the pod's own, its variables are the container's, and the operator says which pod is
// which.
bool is_in_the_manifest(const options::GivenOption& option) {
  const FlagId id = option.flag->id;
  return option.flag->group == options::Group::container || id == FlagId::env ||
         id == FlagId::nnodes;
}

Result<void> set_toprun(Workload& job, const OptionReader& reader) {
  const auto given = reader.one("--toprun-image");
  if (!given) return {};
  const auto image = container::parse_image(given->value);
  if (!image) return std::unexpected(image.error());
  if (image->is_path()) {
    return usage(given->label(), "pods take their images from a registry", "name one there");
  }
  job.toprun_image = container::registry_reference(*image);
  return {};
}

bool is_text(std::string_view word) {
  while (!word.empty()) {
    const Character character = first_character(word);
    if (!character.valid) return false;
    word.remove_prefix(character.bytes.size());
  }
  return true;
}

Result<void> set_command(Workload& job, const plan::Options& run, const options::Split& split) {
  job.command = {"toprun"};
  for (std::string& word : jobs::run_words(split, is_in_the_manifest)) {
    job.command.push_back(std::move(word));
  }
  std::vector<std::string> program{run.script};
  program.insert(program.end(), run.arguments.begin(), run.arguments.end());
  for (std::string& word : scheduler::after_options(program)) {
    job.command.push_back(std::move(word));
  }
  if (std::ranges::all_of(job.command, is_text)) return {};
  auto packed = plan::pack_words(job.command);  // JSON and YAML hold UTF-8 alone
  if (!packed) return std::unexpected(packed.error());
  job.command = *std::move(packed);
  return {};
}

void set_surroundings(Workload& job, const plan::Options& run, const Environment& environment) {
  for (const auto& [name, value] : run.activation.variables) {
    const auto here = value ? value : environment.get(name);
    if (here) job.variables.emplace_back(name, *here);
  }
  const std::string user = scheduler::kubernetes::user_of(environment);
  if (!user.empty()) job.labels.emplace_back(scheduler::kubernetes::user_label, user);
}

// nullopt: the cluster is asked which operators it has.
Result<std::optional<Operator>> operator_of(const OptionReader& reader) {
  constexpr std::array<std::string_view, 4> known = {"auto", "pytorchjob", "trainjob", "jobset"};
  const auto given = reader.one("--operator");
  if (!given) return std::optional<Operator>();
  const auto word = options::parse_choice(*given, known);
  if (!word) return std::unexpected(word.error());
  if (*word == "auto") return std::optional<Operator>();
  if (*word == "trainjob") return std::optional(Operator::trainjob);
  return std::optional(*word == "jobset" ? Operator::jobset : Operator::pytorchjob);
}

Result<void> set_dry_run(PodOptions& out, const OptionReader& reader) {
  constexpr std::array<std::string_view, 3> known = {"client", "server", "json"};
  for (const options::GivenOption& option : reader.split.options) {
    if (option.flag->id != FlagId::job_dry_run) continue;
    out.dry_run = DryRun::client;
    if (option.value.empty()) continue;
    const auto one = options::parse_choice(options::as_given(option), known);
    if (!one) return std::unexpected(one.error());
    if (*one == "server") out.dry_run = DryRun::server;
    out.as_json = *one == "json";
  }
  return {};
}

// A job whose pods sleep has no script, but a name.
Result<options::Split> without_script(options::Split split) {
  if (split.script) {
    return usage("--interactive with " + *split.script, "its pods sleep, and run no script",
                 "leave it out: toprun run --in JOB SCRIPT runs it in them");
  }
  split.script = interactive_name;
  return split;
}

}  // namespace

Result<PodOptions> pod_options(const options::Split& given,
                               const std::vector<std::string>& arguments,
                               const Environment& environment) {
  PodOptions out;
  out.interactive = is_given(given, FlagId::interactive);
  const auto whole = out.interactive ? without_script(given) : Result<options::Split>(given);
  if (!whole) return std::unexpected(whole.error());
  const options::Split& split = *whole;
  const OptionReader reader{split, environment};
  const auto no_file = [](const std::string&) { return true; };
  auto run = options::run_options(split, arguments, environment, no_file);
  if (!run) return std::unexpected(std::move(run.error()));
  out.notes = std::move(run->notes);
  Workload& job = out.job;
  auto image = image_of(run->options);
  if (!image) return std::unexpected(std::move(image.error()));
  job.image = *std::move(image);
  job.workers = parse_int(run->options.nproc_per_node.value);
  job.restarts = run->options.max_restarts;
  auto done = check_others(split, out.notes);
  if (done) done = set_nodes(job, run->options, reader);
  if (done) done = set_share_of_a_node(job, reader);
  if (done) done = set_limit(job, reader);
  if (done) done = set_names(job, run->options, reader);
  if (done) done = set_mounts(job, reader);
  if (done) done = set_toprun(job, reader);
  if (done) done = set_command(job, run->options, split);
  if (done) done = set_dry_run(out, reader);
  if (out.interactive) job.command = scheduler::sleeping_command();
  if (!done) return std::unexpected(done.error());
  auto placement = placement_of(reader);
  if (!placement) return std::unexpected(std::move(placement.error()));
  job.placement = *std::move(placement);
  set_surroundings(job, run->options, environment);
  const auto which = operator_of(reader);
  if (!which) return std::unexpected(which.error());
  out.which = *which;
  out.wait = is_given(split, FlagId::wait);
  out.follow = is_given(split, FlagId::follow);
  return out;
}

}  // namespace toprun::pods
