#include "cli/pods/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/job_options.h"
#include "cli/options/run_options.h"
#include "cli/options/values.h"
#include "cli/pods/option_reader.h"
#include "cli/pods/placement.h"
#include "cli/pods/secrets.h"
#include "cli/pods/unfit_options.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/object_name.h"
#include "engines/kubernetes/pod_template.h"
#include "engines/program_words.h"
#include "engines/queue.h"
#include "engines/slurm/facts.h"
#include "machine/container/image.h"
#include "node/plan/packed_words.h"

namespace toprun::pods {
namespace {

using engines::kubernetes::Operator;
using engines::kubernetes::Workload;
using options::Argument;
using options::FlagId;

constexpr int max_gpus_per_pod = 1'024;
constexpr int max_cpus_per_pod = 100'000;
constexpr int max_resource = 1'000'000;
constexpr std::int64_t max_id = INT32_MAX;  // of Kubernetes' runAsUser
constexpr const char* interactive_name = "interactive";

bool is_given(const options::Split& split, FlagId id) {
  return std::ranges::any_of(split.options, [&](const auto& one) { return one.flag->id == id; });
}

Result<std::string> image_of(const plan::Options& run, bool on_runai) {
  const auto image = container::parse_image(run.container.image);
  if (run.container.empty()) {
    return usage(on_runai ? "--on runai" : "--on kubernetes", "a pod needs an image",
                 "use --container IMAGE");
  }
  if (!image) return std::unexpected(image.error());
  if (!image->is_path()) {
    const auto has_capital = [](std::string_view text) { return lower(text) != text; };
    const bool is_domain = image->registry.find_first_of(".:") != std::string::npos;
    if (has_capital(image->name) || (has_capital(image->registry) && !is_domain)) {
      return usage("--container " + run.container.image,
                   "the name of an image in a registry has no capital letters",
                   "write it in lower case");
    }
    return container::registry_reference(*image);
  }
  return usage("--container " + run.container.image, "pods need an image from a registry",
               "name an image in a registry, as in docker://nvcr.io/nvidia/pytorch:25.03-py3");
}

Result<engines::kubernetes::Claim> parse_claim(const Argument& argument) {
  const auto parts = toprun::split(argument.value, ':');
  const bool good = parts.size() >= 2 && parts.size() <= 3 && !parts[0].empty() &&
                    parts[1].starts_with('/') && (parts.size() == 2 || parts[2] == "ro");
  if (!good) {
    return usage(argument.label(), "is not NAME:PATH or NAME:PATH:ro",
                 "write an absolute path, as in scratch:/scratch");
  }
  if (!engines::kubernetes::is_object_name(parts[0])) {
    return usage(argument.label(),
                 fmt::format("'{}' is not the name of a claim", printable(parts[0])),
                 "write the name as kubectl get pvc lists it: a-z, 0-9, - and .");
  }
  engines::kubernetes::Claim claim;
  claim.name = parts[0];
  claim.path = parts[1];
  claim.read_only = parts.size() == 3;
  return claim;
}

// Slurm's memory, in MiB unless a letter says otherwise, as Kubernetes writes it; 0 means no limit.
// Slurm's letters mean powers of 1024, with or without an i: 64G is 64Gi.
Result<std::optional<std::string>> parse_memory(const Argument& argument) {
  std::string_view text = argument.value;
  if (text.ends_with('i')) text.remove_suffix(1);
  const std::string_view letters = "KMGT";
  const bool has_unit = !text.empty() && letters.contains(text.back());
  const auto number = parse_int(has_unit ? text.substr(0, text.size() - 1) : text);
  const bool is_bare = argument.value.ends_with('i') && !has_unit;
  if (!number || *number < 0 || is_bare) {
    return usage(argument.label(), "is not a size", "write a size such as 64G or 64Gi");
  }
  if (*number == 0) return std::optional<std::string>();
  return std::optional(fmt::format("{}{}i", *number, has_unit ? text.back() : 'M'));
}

Result<void> set_nodes(Workload& job, const plan::Options& run, const OptionReader& reader) {
  job.nodes = run.standalone ? 1 : run.nnodes.value.value_or(1);
  job.least_nodes = run.min_nodes;
  const auto argument = reader.one("--nodes");
  if (!argument) return {};
  const char between = argument->value.contains(':') ? ':' : '-';  // Slurm's form is MIN-MAX
  const auto count = TRY(options::parse_node_count(*argument, between));
  if (run.nnodes.source == "--nnodes" && argument->is_typed() && job.nodes != count.most) {
    return usage(fmt::format("{} and --nnodes {}", argument->label(), job.nodes),
                 "each pod of the job is a node of the run", "give only --nodes");
  }
  job.nodes = count.most;
  if (count.least < count.most) job.least_nodes = count.least;
  return {};
}

Result<void> set_number(std::optional<int>& out, const OptionReader& reader, std::string_view name,
                        int least, int most) {
  const auto argument = reader.one(name);
  if (!argument) return {};
  out = TRY(options::parse_number(*argument, least, most));
  return {};
}

Result<void> set_memory(std::optional<std::string>& out, const OptionReader& reader,
                        std::string_view name) {
  const auto argument = reader.one(name);
  if (!argument) return {};
  out = TRY(parse_memory(*argument));
  return {};
}

// Of 900G people may think 900 * 10^9 bytes, which Kubernetes means by it.
void note_memory(std::vector<std::string>& notes, const OptionReader& reader) {
  for (const std::string_view name : {"--mem", "--shm"}) {
    const auto argument = reader.one(name);
    const auto memory = argument ? parse_memory(*argument) : Result<std::optional<std::string>>();
    if (memory && argument && !*memory) {
      notes.push_back(fmt::format(
          "{} sets no limit in Kubernetes; only in Slurm it means all of a node's memory",
          argument->label()));
    }
    if (!memory || !*memory || argument->value == **memory) continue;
    notes.push_back(
        fmt::format("{} becomes {} in Kubernetes, because Slurm's units are powers of 1024",
                    argument->label(), **memory));
  }
}

// Resources that a rank is started for, one each.
bool is_accelerator(std::string_view resource) {
  return resource.ends_with("/gpu") || resource.starts_with("nvidia.com/mig-") ||
         resource.starts_with("gpu.intel.com/") || resource == "habana.ai/gaudi";
}

// As toprun counts on a machine: one rank per GPU, else one. Each operator has its own idea of what
// to count instead of a number that is not there.
void count_workers(Workload& job, const plan::Options& run) {
  job.workers = parse_int(run.nproc_per_node.value);
  if (run.nproc_per_node.is_set()) return;
  int accelerators = job.gpus;
  for (const auto& [name, count] : job.resources) {
    if (is_accelerator(name)) accelerators += count;
  }
  job.workers = std::max(1, accelerators);
}

Result<void> set_gpu_resource(Workload& job, const OptionReader& reader) {
  const auto argument = reader.one("--gpu-resource");
  if (!argument) return {};
  if (!engines::kubernetes::is_label_key(argument->value) || !argument->value.contains('/')) {
    return usage(argument->label(), "is not the name of a resource",
                 "write the name as kubectl describe node prints it, as in amd.com/gpu");
  }
  job.gpu_resource = argument->value;
  return {};
}

bool is_extended_resource(std::string_view name) {
  return name.contains('/') && engines::kubernetes::is_label_key(name);
}

Result<void> set_resources(Workload& job, const OptionReader& reader) {
  const auto all = reader.all("--extended-resource");
  const auto pairs = TRY(pairs_of(all, "a resource has one count"));
  for (const auto& pair : pairs) {
    const auto& [name, number] = pair;
    const std::string label = label_of(all, pair);
    const auto count = parse_int(number);
    if (!count || *count < 1 || *count > max_resource) {
      return usage(label, "is not NAME=N", "write a name and a number, as in rdma/rdma=1");
    }
    if (!is_extended_resource(name)) {
      return usage(
          label,
          fmt::format("'{}' is not the name of an extended resource: such a name contains a domain",
                      printable(name)),
          "write the name as kubectl describe node prints it, as in rdma/hca=1");
    }
    if (job.gpus > 0 && name == job.gpu_resource) {
      return usage(label + " and --gpus-per-node", "both request the same resource",
                   "give only one of them");
    }
    job.resources.emplace_back(name, static_cast<int>(*count));
  }
  return {};
}

Result<void> set_share_of_a_node(Workload& job, const OptionReader& reader) {
  std::optional<int> gpus;
  TRY(set_number(gpus, reader, "--gpus-per-node", 0, max_gpus_per_pod));
  TRY(set_number(job.cpus, reader, "--cpus-per-task", 1, max_cpus_per_pod));
  TRY(set_memory(job.memory, reader, "--mem"));
  TRY(set_memory(job.shared_memory, reader, "--shm"));
  TRY(set_gpu_resource(job, reader));
  job.gpus = gpus.value_or(0);
  job.host_network = reader.has("--host-network");
  job.locks_memory = reader.has("--ipc-lock");
  return set_resources(job, reader);
}

Result<void> set_limit(Workload& job, const OptionReader& reader) {
  const auto argument = reader.one("--time");
  if (!argument) return {};
  const auto seconds = engines::slurm_seconds(argument->value);
  if (!seconds || *seconds < 1) {
    return usage(argument->label(), "is not a time", "write minutes, H:MM:SS or D-HH:MM:SS");
  }
  job.limit = std::chrono::seconds(*seconds);
  return {};
}

std::string name_of_script(const plan::Options& run) {
  std::string_view name = run.script;
  while (name.ends_with('/')) name.remove_suffix(1);
  name = name.substr(name.rfind('/') + 1);
  if (name.ends_with(".py")) name.remove_suffix(3);
  return engines::kubernetes::nearest_label(name);
}

// "NAME" is the cluster's, "trainingruntime/NAME" the namespace's.
Result<void> set_runtime(Workload& job, const OptionReader& reader) {
  const auto argument = reader.one("--runtime");
  if (!argument) return {};
  const std::size_t slash = argument->value.find('/');
  const std::string kind =
      slash == std::string::npos ? "" : lower(argument->value.substr(0, slash));
  job.runtime = argument->value.substr(slash == std::string::npos ? 0 : slash + 1);
  const bool is_of_space = kind == "trainingruntime";
  const bool is_kind = kind.empty() || is_of_space || kind == "clustertrainingruntime";
  if (!is_kind || !engines::kubernetes::is_label(job.runtime)) {
    return usage(argument->label(), "is not the name of a training runtime",
                 "kubectl get clustertrainingruntimes,trainingruntimes lists the runtimes; write a "
                 "namespaced runtime as trainingruntime/NAME");
  }
  if (is_of_space) job.runtime_kind = "TrainingRuntime";
  return {};
}

Result<void> set_names(Workload& job, const plan::Options& run, const OptionReader& reader) {
  job.name = name_of_script(run);
  job.name_is_beginning = true;
  if (const auto argument = reader.one("--job-name")) {
    job.name = TRY(engines::kubernetes::job_name(argument->value, argument->source));
    job.name_is_beginning = false;
  }
  if (const auto argument = reader.one("--namespace")) {
    if (!engines::kubernetes::is_label(argument->value)) {
      return usage(
          argument->label(), "is not the name of a namespace",
          fmt::format("use --namespace {}", engines::kubernetes::nearest_label(argument->value)));
    }
    job.space = argument->value;
  }
  if (const auto done = set_runtime(job, reader); !done) return done;
  if (const auto argument = reader.one("--chdir")) {
    if (!argument->value.starts_with('/')) {
      return usage(argument->label(), "must be a folder of the image or of a claim",
                   "write an absolute path");
    }
    job.folder = argument->value;
  }
  return {};
}

// Of paths that mean the same one: "/a/b/" for "/a//b".
std::string plain_path(std::string_view path) {
  std::string plain = std::filesystem::path(path).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

// A path at which the pods see something else already.
Result<void> check_path(const Workload& job, const engines::kubernetes::Claim& claim,
                        const Argument& argument, const std::vector<Argument>& all) {
  const std::string path = plain_path(claim.path);
  const std::string other_path = "give another path";
  if (path == engines::kubernetes::shared_memory_folder) {
    return usage(argument.label(), "the pods' shared memory is mounted at this path", other_path);
  }
  if (path == engines::kubernetes::toprun_folder && !job.toprun_image.empty()) {
    return usage(argument.label(), "--toprun-image puts the binary at this path", other_path);
  }
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    if (plain_path(job.claims[i].path) != path) continue;
    return usage(fmt::format("{} and {}", all[i].label(), argument.label()),
                 "only one claim can be mounted at a path", "give them different paths");
  }
  return {};
}

Result<void> set_claims(Workload& job, const OptionReader& reader) {
  const auto all = reader.all("--pvc");
  for (const Argument& argument : all) {
    auto claim = TRY(parse_claim(argument));
    const auto free = check_path(job, claim, argument, all);
    if (!free) return free;
    job.claims.push_back(std::move(claim));
  }
  return {};
}

// Their keys may have capital letters where a label's domain has none.
Result<void> set_annotations(Workload& job, const OptionReader& reader) {
  const auto all = reader.all("--annotation");
  auto pairs = TRY(pairs_of(all, "an annotation has one value"));
  for (const auto& pair : pairs) {
    if (!engines::kubernetes::is_label_key(lower(pair.first))) {
      return usage(label_of(all, pair),
                   fmt::format("'{}' is not the key of an annotation", printable(pair.first)),
                   "write the annotation as in example.com/key=value");
    }
    if (!has_secret_form(pair.second)) continue;
    return usage("--annotation " + pair.first,
                 "the value looks like a secret, and everyone who may read the job could read it",
                 "leave it out; --secret-env NAME passes a secret to the program");
  }
  job.annotations = std::move(pairs);
  return {};
}

// The image is the pod's own, its variables are the container's, and the operator says which pod is
// which.
bool is_in_the_manifest(const options::ParsedOption& option) {
  const FlagId id = option.flag->id;
  return option.flag->group == options::Group::container || id == FlagId::env ||
         id == FlagId::nnodes;
}

// The claim that pods see at this absolute path, the innermost; nullptr: none.
const engines::kubernetes::Claim* claim_at(const Workload& job, std::string_view path) {
  const auto folder = [](std::string_view of) {
    std::string plain = plain_path(of);
    return plain.ends_with('/') ? plain : plain + '/';
  };
  const std::string whole = folder(path);
  const engines::kubernetes::Claim* found = nullptr;
  for (const auto& claim : job.claims) {
    const bool holds = whole.starts_with(folder(claim.path));
    if (holds && (!found || claim.path.size() > found->path.size())) found = &claim;
  }
  return found;
}

// Files that the pods write where no one finds them when the pods are gone. A patch may mount what
// is not known here.
void note_outputs(PodOptions& out, const options::Split& split) {
  if (out.interactive || !out.patch.empty()) return;
  const Environment no_variables;  // the pods do not get those of this host
  const OptionReader reader{split, no_variables};
  for (const std::string_view option : {"--log-dir", "--node-log", "--report"}) {
    const auto argument = reader.one(option);
    if (!argument || argument->value.starts_with("/dev/")) continue;
    const bool is_absolute = argument->value.starts_with('/');
    const bool is_in_the_images_folder = !is_absolute && out.job.folder.empty();
    if (is_in_the_images_folder && !out.job.claims.empty()) continue;  // that may be a claim's
    const auto* const claim =
        claim_at(out.job, is_absolute ? argument->value : out.job.folder + '/' + argument->value);
    if (claim == nullptr) {
      out.notes.push_back(
          argument->label() +
          " is not on a claim of the job (--pvc): these files are lost when the pods are deleted");
    } else if (claim->read_only) {
      out.notes.push_back(argument->label() +
                          " is on a read-only claim: leave :ro out of the claim's --pvc");
    }
  }
}

// A binary that is on a claim, or in the image elsewhere than in its PATH.
Result<void> set_path(PodOptions& out, const OptionReader& reader) {
  const auto argument = reader.one("--toprun");
  if (!argument) return {};
  if (!argument->value.starts_with('/') || argument->value.ends_with('/')) {
    return usage(argument->label(), "must be a file's absolute path in the pods",
                 "write a path such as /scratch/bin/toprun, on a claim that --pvc mounts");
  }
  Workload& job = out.job;
  if (job.command.front() == "toprun") job.command.front() = argument->value;
  if (claim_at(job, argument->value) == nullptr) {
    out.notes.push_back(argument->label() +
                        " is not on a claim of the job (--pvc): the image must contain this file");
  }
  return {};
}

// Images that whole communities use, as their registries publish them: they have neither toprun nor
// the user's scripts.
bool is_published(std::string_view image) {
  constexpr std::array<std::string_view, 10> known = {"nvcr.io/nvidia/",
                                                      "docker.io/library/",
                                                      "docker.io/pytorch/",
                                                      "docker.io/huggingface/",
                                                      "docker.io/nvidia/",
                                                      "docker.io/rocm/",
                                                      "pytorch/",
                                                      "huggingface/",
                                                      "nvidia/",
                                                      "rocm/"};
  const bool is_dockers = !image.contains('/');  // python:3
  return is_dockers || std::ranges::any_of(known, [&](auto one) { return image.starts_with(one); });
}

// A patch may ask for GPUs.
void note_gpus(PodOptions& out, const OptionReader& reader) {
  const bool has_others = std::ranges::any_of(
      out.job.resources, [](const auto& resource) { return is_accelerator(resource.first); });
  if (reader.has("--gpus-per-node") || has_others || !out.patch.empty()) return;
  out.notes.push_back(
      "no GPU is requested: --gpus-per-node N requests N in each pod, --gpus-per-node 0 is for "
      "jobs without GPUs");
}

void note_image(PodOptions& out, const OptionReader& reader) {
  if (reader.has("--toprun") || reader.has("--toprun-image") || out.interactive) return;
  const std::string& image = out.job.image;
  if (!is_published(image)) return;
  out.notes.push_back(fmt::format(
      "image {} does not contain toprun unless you have added it: --toprun PATH names a toprun on "
      "a claim{}",
      image, out.on_runai ? "" : ", --toprun-image IMAGE copies it from another image"));
}

// A relative path begins in the folder of --chdir, else in the image's.
void note_script(PodOptions& out, const plan::Options& run) {
  const Workload& job = out.job;
  if (out.interactive || run.program != plan::Program::script || !is_published(job.image)) return;
  const std::string path = run.script.starts_with('/') ? run.script : job.folder + "/" + run.script;
  if (claim_at(job, path) != nullptr) return;
  const std::string folder = job.claims.empty() ? "/PATH" : job.claims.front().path;
  out.notes.push_back(fmt::format(
      "image {} does not contain {} unless you have added it, and the pods do not see this "
      "machine's files: put the script on a claim and give its path in the pods, as in {}{}/{}",
      job.image, run.script, job.claims.empty() ? "--pvc NAME:/PATH " : "",
      folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder,
      std::filesystem::path(run.script).filename().string()));
}

Result<void> set_toprun(Workload& job, const OptionReader& reader) {
  const auto argument = reader.one("--toprun-image");
  if (!argument) return {};
  const auto image = TRY(container::parse_image(argument->value));
  if (image.is_path()) {
    return usage(argument->label(), "pods can use only images from a registry",
                 "give the name of an image in a registry");
  }
  job.toprun_image = container::registry_reference(image);
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
  for (std::string& word : engines::after_options(program)) {
    job.command.push_back(std::move(word));
  }
  if (std::ranges::all_of(job.command, is_text)) return {};
  auto packed = plan::pack_words(job.command);  // JSON and YAML hold UTF-8 alone
  if (!packed) return std::unexpected(packed.error());
  job.command = *std::move(packed);
  return {};
}

Result<void> set_objects(PodOptions& out, const OptionReader& reader) {
  Workload& job = out.job;
  const auto take = [](const Argument& argument) -> Result<std::string> {
    if (engines::kubernetes::is_object_name(argument.value)) return argument.value;
    return usage(argument.label(), "is not the name of an object in Kubernetes",
                 "write the name as kubectl lists it: a-z, 0-9, - and .");
  };
  for (const auto& [option, names] : {std::pair{"--env-from", &job.env_from},
                                      std::pair{"--image-pull-secret", &job.pull_secrets}}) {
    for (const Argument& argument : reader.all(option)) {
      auto name = TRY(take(argument));
      names->push_back(std::move(name));
    }
  }
  if (const auto argument = reader.one("--service-account")) {
    job.service_account = TRY(take(*argument));
  }
  if (const auto argument = reader.one("--patch")) out.patch = argument->value;
  return {};
}

// UID or UID:GID.
Result<void> set_user(Workload& job, const OptionReader& reader) {
  job.restricted = reader.has("--restricted");
  const auto argument = reader.one("--run-as");
  if (!argument) return {};
  const std::size_t colon = argument->value.find(':');
  const auto user = parse_int(std::string_view(argument->value).substr(0, colon));
  const auto group = colon == std::string::npos
                         ? std::optional<std::int64_t>()
                         : parse_int(std::string_view(argument->value).substr(colon + 1));
  const auto is_id = [](std::int64_t id) { return id >= 0 && id <= max_id; };
  const bool good =
      user && is_id(*user) && (colon == std::string::npos || (group && is_id(*group)));
  if (!good)
    return usage(argument->label(), "is not UID or UID:GID",
                 "write numbers, as `id -u` and `id -g` print them");
  job.run_as = engines::kubernetes::RunAs{*user, group};
  return {};
}

void set_surroundings(Workload& job, const plan::Options& run, const Environment& environment) {
  for (const auto& [name, value] : run.activation.variables) {
    const auto here = value ? value : environment.get(name);
    if (!here) continue;
    std::erase_if(job.variables, [&](const auto& earlier) { return earlier.first == name; });
    job.variables.emplace_back(name, *here);
  }
  const std::string user = engines::kubernetes::user_of(environment);
  if (!user.empty()) job.labels.emplace_back(engines::kubernetes::user_label, user);
}

// Variables that name places on this machine, and that an image sets for its own.
void note_copies(std::vector<std::string>& notes, const plan::Options& run) {
  constexpr std::array<std::string_view, 6> places = {
      "PATH", "LD_LIBRARY_PATH", "HOME", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"};
  for (const auto& [name, value] : run.activation.variables) {
    if (value || std::ranges::find(places, name) == places.end()) continue;
    notes.push_back(
        fmt::format("-e {0} copies {0} of this machine into the pods, instead of the image's: "
                    "write -e {0}=VALUE for another value",
                    name));
  }
}

// A variable has one source.
Result<void> check_names(const Workload& job) {
  for (const auto& [name, value] : job.variables) {
    const auto same =
        std::ranges::find(job.secret_variables, name, &engines::kubernetes::SecretVariable::name);
    const bool is_both = same != job.secret_variables.end();
    if (is_both) {
      return usage(fmt::format("-e {0} and --secret-env {0}", name), "both set the same variable",
                   "give only one of them");
    }
  }
  return {};
}

// nullopt: the cluster is asked which operators it has.
Result<std::optional<Operator>> operator_of(const OptionReader& reader) {
  constexpr std::array<std::string_view, 4> known = {"auto", "pytorchjob", "trainjob", "jobset"};
  const auto argument = reader.one("--operator");
  if (!argument) return std::optional<Operator>();
  const auto word = TRY(options::parse_choice(*argument, known));
  if (word == "auto") return std::optional<Operator>();
  if (word == "trainjob") return std::optional(Operator::trainjob);
  return std::optional(word == "jobset" ? Operator::jobset : Operator::pytorchjob);
}

Result<void> set_dry_run(PodOptions& out, const OptionReader& reader) {
  constexpr std::array<std::string_view, 3> known = {"client", "server", "json"};
  for (const options::ParsedOption& option : reader.split.options) {
    if (option.flag->id != FlagId::job_dry_run) continue;
    out.dry_run = DryRun::client;
    if (option.value.empty()) continue;
    const auto one = TRY(options::parse_choice(options::as_argument(option), known));
    if (one == "server") out.dry_run = DryRun::server;
    out.as_json = one == "json";
  }
  return {};
}

// A job whose pods sleep has no script, but a name.
Result<options::Split> without_script(options::Split split) {
  if (split.script) {
    return usage("--interactive with " + *split.script,
                 "with --interactive, the pods wait and do not run a script",
                 "leave the script out: toprun run --in JOB SCRIPT runs it in the pods");
  }
  split.script = interactive_name;
  return split;
}

}  // namespace

Result<PodOptions> pod_options(const options::Split& argument,
                               const std::vector<std::string>& arguments,
                               const Environment& environment) {
  PodOptions out;
  out.interactive = is_given(argument, FlagId::interactive);
  const auto engine = OptionReader{argument, environment}.one("--on");
  out.on_runai = engine && engines::queue_kind(engine->value) == engines::QueueKind::runai;
  std::vector<std::string> notes;
  const options::Split fitting = TRY(without_unfit(argument, out.on_runai, notes));
  const options::Split split =
      TRY(out.interactive ? without_script(fitting) : Result<options::Split>(fitting));
  const OptionReader reader{split, environment};
  if (const auto cli = reader.one("--runai-cli"); cli && out.on_runai) {
    constexpr std::array<std::string_view, 2> known = {"v1", "v2"};
    TRY(options::parse_choice(*cli, known));
  }
  out.which = TRY(operator_of(reader));
  const auto no_file = [](const std::string&) { return true; };
  auto run = TRY(options::run_options(split, arguments, environment, no_file));
  if (run.options.script == "-") {
    return usage("script \"-\"", "it means standard input, which the pods do not have",
                 "name the script's file");
  }
  out.notes = std::move(run.notes);
  out.notes.insert(out.notes.end(), notes.begin(), notes.end());
  Workload& job = out.job;
  job.image = TRY(image_of(run.options, out.on_runai));
  job.restarts = run.options.max_restarts;
  TRY(set_nodes(job, run.options, reader));
  TRY(set_share_of_a_node(job, reader));
  count_workers(job, run.options);
  TRY(set_limit(job, reader));
  TRY(set_names(job, run.options, reader));
  TRY(set_toprun(job, reader));
  TRY(set_claims(job, reader));
  TRY(set_annotations(job, reader));
  TRY(set_command(job, run.options, split));
  TRY(set_path(out, reader));
  TRY(set_objects(out, reader));
  TRY(set_user(job, reader));
  TRY(read_secrets(job, out.secrets, reader, out.on_runai));
  TRY(set_dry_run(out, reader));
  if (out.interactive) job.command = engines::sleeping_command();
  job.placement = TRY(placement_of(reader));
  set_surroundings(job, run.options, environment);
  TRY(check_names(job));
  note_gpus(out, reader);
  note_image(out, reader);
  note_script(out, run.options);
  note_outputs(out, split);
  if (out.dry_run != DryRun::no) note_memory(out.notes, reader);
  note_copies(out.notes, run.options);
  out.wait = is_given(split, FlagId::wait);
  out.follow = is_given(split, FlagId::follow);
  return out;
}

}  // namespace toprun::pods
