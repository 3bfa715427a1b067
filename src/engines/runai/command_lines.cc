#include "engines/runai/command_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace toprun::engines::runai {
namespace {

using kubernetes::Claim;
using kubernetes::Placement;
using kubernetes::Toleration;
using kubernetes::Workload;

// The label that --node-type asks for (run-ai/docs, admin/researcher-setup/limit-to-node-group.md).
constexpr std::string_view node_type_label = "run.ai/type";

void add(Words& words, std::string_view option, std::string value) {
  words.emplace_back(option);
  words.push_back(std::move(value));
}

void add_project(Words& words, const Client& client) {
  if (!client.project.empty()) add(words, "--project", client.project);
}

// The beginning of a command about PyTorch jobs.
Words pytorch(std::string_view verb) {
  return {"runai", "training", "pytorch", std::string(verb)};
}

// The options that the programs call differently.
struct Names {
  std::string_view gpus;
  std::string_view cpus;
  std::string_view memory;
  std::string_view resource;
};
constexpr Names of_v1 = {"--gpu", "--cpu", "--memory", "--extended-resource"};
constexpr Names of_v2 = {"--gpu-devices-request", "--cpu-core-request", "--cpu-memory-request",
                         "--extended-resource"};
constexpr Names of_master = {"--master-gpu-devices-request", "--master-cpu-core-request",
                             "--master-cpu-memory-request", "--master-extended-resource"};

Words beginning(Cli cli, const std::string& name) {
  if (cli == Cli::v1) return {"runai", "submit-dist", "pytorch", "--name", name};
  Words words = pytorch("submit");
  words.push_back(name);
  return words;
}

void add_claim(Words& words, Cli cli, const Claim& claim) {
  if (cli == Cli::v1) {
    add(words, "--pvc",
        fmt::format("{}:{}{}", claim.name, claim.path, claim.read_only ? ":ro" : ""));
  } else {
    add(words, "--existing-pvc", fmt::format("claimname={},path={}", claim.name, claim.path));
  }
}

// An elastic job has no master: its pods are workers, and some may be absent.
void add_pods(Words& words, Cli cli, const Workload& job) {
  const bool without_master = job.least_nodes && cli == Cli::v2;
  if (without_master) words.emplace_back("--no-master");
  add(words, "--workers", fmt::to_string(without_master ? job.nodes : job.nodes - 1));
  if (!job.least_nodes) return;
  add(words, "--min-replicas", fmt::to_string(*job.least_nodes));
  add(words, "--max-replicas", fmt::to_string(job.nodes));
}

// v2's number of GPUs has to be positive.
void add_resources_by(Words& words, const Names& names, const Client& client, const Workload& job) {
  const bool is_v1 = client.cli == Cli::v1;
  if (is_v1 || (job.gpus > 0 && client.has(names.gpus))) {
    add(words, names.gpus, fmt::to_string(job.gpus));
  }
  if (job.cpus && client.has(names.cpus)) add(words, names.cpus, fmt::to_string(*job.cpus));
  if (job.memory && client.has(names.memory)) add(words, names.memory, *job.memory);
  for (const auto& [name, count] : job.resources) {
    add(words, names.resource, fmt::format("{}={}", name, count));
  }
}

// v2's master is as its workers are until one of its own options is given, and then has what these
// give: all of them, because the extended resources have to be among them.
void add_resources(Words& words, const Client& client, const Workload& job) {
  add_resources_by(words, client.cli == Cli::v1 ? of_v1 : of_v2, client, job);
  const bool differs = client.cli == Cli::v2 && !job.least_nodes && !job.resources.empty();
  if (differs) add_resources_by(words, of_master, client, job);
}

// One failure ends the job, and what still runs then ends by itself; of jobs with restarts the
// defaults stay.
void add_policies(Words& words, const Client& client, const Workload& job) {
  add(words, "--backoff-limit", fmt::to_string(job.restarts));
  const bool ends = job.restarts == 0 && !job.least_nodes && client.cli == Cli::v2;
  if (ends && client.has("--restart-policy")) add(words, "--restart-policy", "Never");
  if (ends && client.has("--master-restart-policy")) add(words, "--master-restart-policy", "Never");
  if (client.has("--clean-pod-policy")) add(words, "--clean-pod-policy", "None");
}

void add_user(Words& words, const Workload& job) {
  if (job.run_as) add(words, "--run-as-uid", fmt::to_string(job.run_as->user));
  if (job.run_as && job.run_as->group) {
    add(words, "--run-as-gid", fmt::to_string(*job.run_as->group));
  }
  if (!job.restricted) return;
  words.emplace_back("--run-as-non-root");
  add(words, "--seccomp-profile", "RuntimeDefault");
}

// runai's own form: operator=Equal,key=KEY,value=VALUE,effect=EFFECT.
std::string toleration_text(const Toleration& toleration) {
  std::string text = toleration.value ? fmt::format("operator=Equal,key={},value={}",
                                                    toleration.key, *toleration.value)
                                      : "operator=Exists,key=" + toleration.key;
  return toleration.effect.empty() ? text : fmt::format("{},effect={}", text, toleration.effect);
}

void add_placement(Words& words, Cli cli, const Workload& job) {
  const Placement& placement = job.placement;
  for (const std::string& pool : placement.pools) add(words, "--node-pools", pool);
  for (const auto& [key, value] : placement.selector) add(words, "--node-type", value);
  for (const Toleration& toleration : placement.tolerations) {
    add(words, "--toleration", toleration_text(toleration));
  }
  if (placement.together) {
    add(words,
        placement.together->required ? "--required-pod-topology-key"
                                     : "--preferred-pod-topology-key",
        placement.together->key);
  }
  if (job.host_network) words.emplace_back("--host-network");
  if (job.locks_memory)
    add(words, cli == Cli::v1 ? "--add-capability" : "--capability", "IPC_LOCK");
}

// What runai has no option for.
std::optional<std::string_view> first_foreign_option(const Workload& job) {
  const Placement& placement = job.placement;
  const std::array<std::pair<bool, std::string_view>, 11> foreign = {{
      {!job.space.empty(), "--namespace"},
      {!placement.queue.empty(), "--queue"},
      {placement.placer != kubernetes::Placer::cluster, "--scheduler"},
      {!placement.priority_class.empty(), "--priority-class"},
      {job.shared_memory.has_value(), "--shm"},
      {!job.toprun_image.empty(), "--toprun-image"},
      {!job.runtime.empty(), "--runtime"},
      {job.gpu_resource != Workload().gpu_resource, "--gpu-resource"},
      {!job.env_from.empty(), "--env-from"},
      {!job.service_account.empty(), "--service-account"},
      {!job.pull_secrets.empty(), "--image-pull-secret"},
  }};
  const auto found = std::ranges::find(foreign, true, &std::pair<bool, std::string_view>::first);
  if (found == foreign.end()) return std::nullopt;
  return found->second;
}

constexpr const char* from_a_file =
    "have the program read the secret from a file on a claim that --pvc mounts";

bool has_secret_variables(const Client& client) {
  return client.cli == Cli::v2 && client.has("--env-secret");
}

Result<void> check_secrets(const Client& client, const Workload& job) {
  if (job.secret_variables.empty()) return {};
  const std::string& name = job.secret_variables.front().name;
  if (!has_secret_variables(client)) {
    return usage("--secret-env " + name,
                 "this version of runai does not have the flag --env-secret",
                 fmt::format("install a newer runai, or {}", from_a_file));
  }
  for (const kubernetes::SecretVariable& one : job.secret_variables) {
    if (!one.secret.empty()) continue;
    return usage(
        "--secret-env " + one.name,
        "Run:AI cannot create a Secret without showing its value to other users",
        fmt::format("create a Secret in Run:AI, and use --secret-env {}=SECRET:KEY", one.name));
  }
  return {};
}

Result<void> check_user(const Client& client, const Workload& job) {
  const bool is_v1 = client.cli == Cli::v1;
  if (job.run_as && (is_v1 || !client.has("--run-as-uid"))) {
    return usage("--run-as", "this version of runai does not have a flag for it", "leave it out");
  }
  if (job.restricted && (is_v1 || !client.has("--run-as-non-root"))) {
    return usage("--restricted",
                 "this version of runai does not have a flag for it (--run-as-non-root)",
                 "leave it out");
  }
  return {};
}

Result<void> check(const Client& client, const Workload& job) {
  const Cli cli = client.cli;
  if (const auto fine = check_secrets(client, job); !fine) return fine;
  if (const auto fine = check_user(client, job); !fine) return fine;
  if (const auto option = first_foreign_option(job)) {
    return usage(std::string(*option), "runai does not have an option for it", "leave it out");
  }
  if (job.limit) {
    return usage("--time", "Run:AI cannot limit the time of a single job", "leave it out");
  }
  if (cli == Cli::v1 && job.placement.pools.size() > 1) {
    return usage("--node-pool", "runai v1 accepts only one pool", "name one pool");
  }
  for (const auto& [key, value] : job.placement.selector) {
    if (key == node_type_label) continue;
    return usage(fmt::format("--node-selector {}={}", key, value),
                 fmt::format("Run:AI can select nodes only by {}", node_type_label),
                 "use this label or --node-pool");
  }
  const bool any_read_only = std::ranges::any_of(job.claims, &Claim::read_only);
  if (cli == Cli::v2 && any_read_only) {
    return usage("--pvc NAME:PATH:ro", "runai v2 cannot mount a claim read-only", "leave :ro out");
  }
  return {};
}

}  // namespace

Cli cli_of(std::string_view version) {
  return version.contains("Version:") && version.contains("GitCommit:") ? Cli::v1 : Cli::v2;
}

bool Client::has(std::string_view flag) const {
  if (!help) return true;
  const std::size_t at = help->find(flag);
  const std::size_t end = at + flag.size();
  return at != std::string::npos && (end == help->size() || (*help)[end] <= ' ');
}

std::string instead_of_a_secret(const Client& client, std::string_view name) {
  if (!has_secret_variables(client)) return from_a_file;
  return fmt::format("use --secret-env {}=SECRET:KEY and have the program read that variable",
                     name);
}

Words help_command() {
  Words words = pytorch("submit");
  words.emplace_back("--help");
  return words;
}

bool is_plain(std::string_view word) {
  constexpr std::string_view marks = "_-./:=@%+";
  return !word.empty() && std::ranges::all_of(word, [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || marks.contains(c);
  });
}

Result<Words> submit_command(const Client& client, const Workload& job) {
  TRY(check(client, job));
  Words words = beginning(client.cli, job.name);
  add_project(words, client);
  add(words, "--image", job.image);
  add_pods(words, client.cli, job);
  add_resources(words, client, job);
  words.emplace_back("--large-shm");
  add_policies(words, client, job);
  add_user(words, job);
  add_placement(words, client.cli, job);
  if (!job.folder.empty()) add(words, "--working-dir", job.folder);
  for (const Claim& claim : job.claims) add_claim(words, client.cli, claim);
  for (const auto& [key, value] : job.annotations) {
    add(words, "--annotation", fmt::format("{}={}", key, value));
  }
  for (const auto& [name, value] : job.variables) {
    add(words, "-e", fmt::format("{}={}", name, value));
  }
  for (const kubernetes::SecretVariable& one : job.secret_variables) {
    add(words, "--env-secret", fmt::format("{}={},key={}", one.name, one.secret, one.key));
  }
  words.emplace_back("--command");
  words.emplace_back("--");
  words.insert(words.end(), job.command.begin(), job.command.end());
  return words;
}

Words list_command(const Client& client, bool of_all_projects) {
  Words words = client.cli == Cli::v1 ? Words{"runai", "list", "jobs"} : pytorch("list");
  if (of_all_projects) {
    words.emplace_back("-A");
  } else {
    add_project(words, client);
  }
  if (client.cli == Cli::v2) words.emplace_back("--json");
  return words;
}

Words describe_command(const Client& client, const std::string& job) {
  Words words = client.cli == Cli::v1 ? Words{"runai", "describe", "job"} : pytorch("describe");
  words.push_back(job);
  add_project(words, client);
  add(words, "-o", "json");
  return words;
}

Words events_command(const Client& client, const std::string& job) {
  Words words{"runai", "describe", "job", job};
  add_project(words, client);
  return words;
}

Words nodes_command(const Client& client) {
  return client.cli == Cli::v1 ? Words{"runai", "list", "nodes"}
                               : Words{"runai", "node", "list", "--json"};
}

Words projects_command(const Client& client) {
  return client.cli == Cli::v1 ? Words{"runai", "list", "projects"}
                               : Words{"runai", "project", "list", "--json"};
}

Words delete_command(const Client& client, const std::string& job) {
  Words words = client.cli == Cli::v1 ? Words{"runai", "delete", "job"} : pytorch("delete");
  words.push_back(job);
  add_project(words, client);
  return words;
}

Words logs_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool follow) {
  Words words = client.cli == Cli::v1 ? Words{"runai", "logs"} : pytorch("logs");
  words.push_back(job);
  add_project(words, client);
  if (pod) add(words, "--pod", *pod);
  if (follow) words.emplace_back("--follow");
  return words;
}

Words exec_command(const Client& client, const std::string& job,
                   const std::optional<std::string>& pod, bool terminal, const Words& words) {
  Words out = client.cli == Cli::v1 ? Words{"runai", "exec"} : pytorch("exec");
  out.push_back(job);
  add_project(out, client);
  if (pod) add(out, "--pod", *pod);
  out.emplace_back("--stdin");
  if (terminal) out.emplace_back("--tty");
  out.emplace_back("--");
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

}  // namespace toprun::engines::runai
