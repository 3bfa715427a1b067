#include "run/conductor/eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/text.h"
#include "run/conductor/coordinator.h"

namespace toprun::run {
namespace {

constexpr std::array<std::string_view, 5> faults = {
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
    "system not yet initialized",
    "GPU has fallen off the bus",
    "GPU is lost",
};

std::optional<std::string> fault_in(std::string_view text) {
  const auto fault = std::ranges::find_if(
      faults, [text](std::string_view words) { return text.find(words) != text.npos; });
  return fault == faults.end() ? std::nullopt : std::optional(std::string(*fault));
}

// How libraries report an error of the driver: PyTorch's "CUDA error: …" and "Unexpected error from
// cudaGetDeviceCount()", NCCL's "Cuda failure …".
std::optional<std::string> fault_reported_in(std::string_view line) {
  constexpr std::array<std::string_view, 5> signs = {"CUDA error", "cudaGetDeviceCount",
                                                     "Cuda failure", "HIP error", "NVML"};
  const bool is_of_the_driver = std::ranges::any_of(
      signs, [line](std::string_view sign) { return line.find(sign) != line.npos; });
  return is_of_the_driver ? fault_in(line) : std::nullopt;
}

}  // namespace

std::optional<std::string> machine_fault(const model::WorkerExit& exit) {
  if (exit.ours || !exit.failed()) return std::nullopt;
  const std::string& raised = exit.error_file ? exit.error_file->message : exit.exception;
  if (!raised.empty()) return fault_reported_in(first_line(raised));
  for (const std::string& line : exit.last_output) {
    if (auto fault = fault_reported_in(line)) return fault;
  }
  return std::nullopt;
}

bool Coordinator::is_at_the_root(const std::string& host) const {
  return std::ranges::any_of(roster_.nodes(), [&](const auto& entry) {
    return entry.second->is_own() && entry.second->join.host == host;
  });
}

// Refuses all later agents of a host. A pod's name is not a machine: Kubernetes may start a pod of
// the same name on another node.
void Coordinator::bar(const std::string& host, std::string why) {
  if (settings_.names_are_unique || is_at_the_root(host)) return;
  barred_.insert_or_assign(host, std::move(why));
  ended_.insert(host);
}

Node* Coordinator::member_with(int rank) {
  const auto part = std::ranges::find_if(attempt_.parts, [rank](const Part& one) {
    return rank >= one.plan.first_rank && rank < one.plan.first_rank + one.plan.nproc;
  });
  return part == attempt_.parts.end() ? nullptr : roster_.find(part->agent);
}

// Excludes the host of the rank that failed first if its machine is at fault and the other hosts
// have enough agents. Otherwise, the rank would meet the same machine again in each attempt.
void Coordinator::evict_by(const Verdict& verdict) {
  const auto fault = settings_.evicts && verdict.exit ? machine_fault(*verdict.exit) : std::nullopt;
  const Node* const member = fault ? member_with(verdict.exit->rank) : nullptr;
  if (member == nullptr) return;
  const std::string host = member->join.host;
  const std::string why = fmt::format("rank {} failed first, by a fault of this machine ({})",
                                      verdict.exit->rank, *fault);
  const auto is_there = [&host](const Node& node) { return node.join.host == host; };
  if (is_at_the_root(host) || roster_.able_without(is_there) < settings_.size.least) {
    return tell_user(
        fmt::format("{} stays, because no other node can take its place: {}", host, why));
  }
  const std::string words = fmt::format("{} leaves the job: {}", host, why);
  tell_user(words);
  bar(host, fmt::format("{} was excluded: {}", host, why));
  dismiss_all_of(host, words);
}

// Whether the job ends because a node was lost so often; an elastic one goes on with the others, if
// they are enough, and takes no agent from that node any more. More than one agent on the root's
// own host may have that name, so none is barred there.
bool Coordinator::is_hopeless_without(const std::string& node) {
  if (node.empty() || is_at_the_root(node)) return false;
  const std::string words = fmt::format("{} was lost {} times, each time within {} of the start",
                                        node, hopeless_after, duration_text(short_life));
  if (!settings_.elastic || roster_.seated() < settings_.size.least) {
    tell_user("not restarted: " + words);
    return true;
  }
  tell_user(words + ": the job goes on without it");
  barred_.insert_or_assign(node, node + " was lost too often, soon after the start");
  dismiss_all_of(node, words);
  return false;
}

void Coordinator::dismiss_all_of(const std::string& host, const std::string& why) {
  std::vector<std::string> there;
  for (const auto& [agent, node] : roster_.nodes()) {
    if (node->is_linked() && node->join.host == host) there.push_back(agent);
  }
  for (const std::string& agent : there) dismiss(*roster_.find(agent), {exit_failure, {}, why});
}

}  // namespace toprun::run
