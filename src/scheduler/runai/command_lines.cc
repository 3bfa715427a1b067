#include "scheduler/runai/command_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace toprun::scheduler::runai {
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

void add_project(Words& words, const Place& place) {
  if (!place.project.empty()) add(words, "--project", place.project);
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
};
constexpr Names names_of(Cli cli) {
  return cli == Cli::v1
             ? Names{"--gpu", "--cpu", "--memory"}
             : Names{"--gpu-devices-request", "--cpu-core-request", "--cpu-memory-request"};
}

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

// An elastic job has no master: its pods are workers of which some may be absent.
void add_pods(Words& words, Cli cli, const Workload& job) {
  const bool without_master = job.least_nodes && cli == Cli::v2;
  if (without_master) words.emplace_back("--no-master");
  add(words, "--workers", fmt::to_string(without_master ? job.nodes : job.nodes - 1));
  if (!job.least_nodes) return;
  add(words, "--min-replicas", fmt::to_string(*job.least_nodes));
  add(words, "--max-replicas", fmt::to_string(job.nodes));
}

void add_resources(Words& words, Cli cli, const Workload& job) {
  const Names names = names_of(cli);
  add(words, names.gpus, fmt::to_string(job.gpus));
  if (job.cpus) add(words, names.cpus, fmt::to_string(*job.cpus));
  if (job.memory) add(words, names.memory, *job.memory);
  for (const auto& [name, count] : job.resources) {
    const std::string resource = fmt::format("{}={}", name, count);
    add(words, "--extended-resource", resource);
    // v2's option is the workers' alone.
    if (cli == Cli::v2 && !job.least_nodes) add(words, "--master-extended-resource", resource);
  }
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
  const std::array<std::pair<bool, std::string_view>, 7> foreign = {{
      {!job.space.empty(), "--namespace"},
      {!placement.queue.empty(), "--queue"},
      {placement.placer != kubernetes::Placer::cluster, "--scheduler"},
      {!placement.priority_class.empty(), "--priority-class"},
      {job.shared_memory.has_value(), "--shm"},
      {!job.toprun_image.empty(), "--toprun-image"},
      {!job.runtime.empty(), "--runtime"},
  }};
  const auto found = std::ranges::find(foreign, true, &std::pair<bool, std::string_view>::first);
  if (found == foreign.end()) return std::nullopt;
  return found->second;
}

Result<void> check(Cli cli, const Workload& job) {
  if (const auto option = first_foreign_option(job)) {
    return usage(std::string(*option), "runai has no option for it", "leave it out");
  }
  if (job.limit) {
    return usage("--time", "Run:AI has no limit for one job", "leave it out");
  }
  if (cli == Cli::v1 && job.placement.pools.size() > 1) {
    return usage("--node-pool", "this runai (v1) takes one pool", "name one");
  }
  for (const auto& [key, value] : job.placement.selector) {
    if (key == node_type_label) continue;
    return usage(fmt::format("--node-selector {}={}", key, value),
                 fmt::format("Run:AI chooses nodes by {} alone", node_type_label),
                 "use that label or --node-pool");
  }
  const bool any_read_only = std::ranges::any_of(job.claims, &Claim::read_only);
  if (cli == Cli::v2 && any_read_only) {
    return usage("--pvc NAME:PATH:ro", "this runai (v2) mounts claims for writing only",
                 "leave :ro out");
  }
  return {};
}

}  // namespace

Cli cli_of(std::string_view version) {
  return version.contains("Version:") && version.contains("GitCommit:") ? Cli::v1 : Cli::v2;
}

bool is_plain(std::string_view word) {
  constexpr std::string_view marks = "_-./:=@%+";
  return !word.empty() && std::ranges::all_of(word, [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || marks.contains(c);
  });
}

Result<Words> submit_command(const Place& place, const Workload& job) {
  if (const auto fits = check(place.cli, job); !fits) return std::unexpected(fits.error());
  Words words = beginning(place.cli, job.name);
  add_project(words, place);
  add(words, "--image", job.image);
  add_pods(words, place.cli, job);
  add_resources(words, place.cli, job);
  words.emplace_back("--large-shm");
  add(words, "--backoff-limit", fmt::to_string(job.restarts));
  add_placement(words, place.cli, job);
  if (!job.folder.empty()) add(words, "--working-dir", job.folder);
  for (const Claim& claim : job.claims) add_claim(words, place.cli, claim);
  for (const auto& [key, value] : job.annotations) {
    add(words, "--annotation", fmt::format("{}={}", key, value));
  }
  for (const auto& [name, value] : job.variables) {
    add(words, "-e", fmt::format("{}={}", name, value));
  }
  words.emplace_back("--command");
  words.emplace_back("--");
  words.insert(words.end(), job.command.begin(), job.command.end());
  return words;
}

Words list_command(const Place& place, bool of_all_projects) {
  Words words = place.cli == Cli::v1 ? Words{"runai", "list", "jobs"} : pytorch("list");
  if (of_all_projects) {
    words.emplace_back("-A");
  } else {
    add_project(words, place);
  }
  if (place.cli == Cli::v2) words.emplace_back("--json");
  return words;
}

Words describe_command(const Place& place, const std::string& job) {
  Words words = place.cli == Cli::v1 ? Words{"runai", "describe", "job"} : pytorch("describe");
  words.push_back(job);
  add_project(words, place);
  add(words, "-o", "json");
  return words;
}

Words events_command(const Place& place, const std::string& job) {
  Words words{"runai", "describe", "job", job};
  add_project(words, place);
  return words;
}

Words nodes_command(const Place& place) {
  return place.cli == Cli::v1 ? Words{"runai", "list", "nodes"}
                              : Words{"runai", "node", "list", "--json"};
}

Words projects_command(const Place& place) {
  return place.cli == Cli::v1 ? Words{"runai", "list", "projects"}
                              : Words{"runai", "project", "list", "--json"};
}

Words delete_command(const Place& place, const std::string& job) {
  Words words = place.cli == Cli::v1 ? Words{"runai", "delete", "job"} : pytorch("delete");
  words.push_back(job);
  add_project(words, place);
  return words;
}

Words logs_command(const Place& place, const std::string& job,
                   const std::optional<std::string>& pod, bool follow) {
  Words words = place.cli == Cli::v1 ? Words{"runai", "logs"} : pytorch("logs");
  words.push_back(job);
  add_project(words, place);
  if (pod) add(words, "--pod", *pod);
  if (follow) words.emplace_back("--follow");
  return words;
}

Words exec_command(const Place& place, const std::string& job,
                   const std::optional<std::string>& pod, bool terminal, const Words& words) {
  Words out = place.cli == Cli::v1 ? Words{"runai", "exec"} : pytorch("exec");
  out.push_back(job);
  add_project(out, place);
  if (pod) add(out, "--pod", *pod);
  out.emplace_back("--stdin");
  if (terminal) out.emplace_back("--tty");
  out.emplace_back("--");
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

}  // namespace toprun::scheduler::runai
