#include "cli/verbs/cluster.h"

#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/process/disk_space.h"
#include "base/text/text.h"
#include "cli/jobs/job_words.h"
#include "cli/verbs/file_systems.h"
#include "decide/placement/compact.h"
#include "decide/topology/source.h"
#include "observe/report/columns.h"

namespace toprun::cli {
namespace {

using options::FlagId;

using engines::ClusterNode;
using engines::Machines;
using engines::Partition;
using nlohmann::json;

constexpr std::chrono::hours short_limit{2};  // a partition for tests ends jobs by then
constexpr std::array test_names = {"debug",       "test",  "short",  "devel",
                                   "interactive", "quick", "express"};

// All facts of the page.
struct ClusterPage {
  std::string engine;  // empty: there is none
  std::string_view partition_word;
  std::string_view queue_word;
  std::vector<PartitionView> partitions;
  std::vector<engines::AdmissionQueue> queues;
  std::vector<placement::CompactSet> compact;
  std::vector<FileSystem> file_systems;
};

std::string debug_reason(const Partition& partition) {
  const std::string name = lower(partition.name);
  if (partition.limit && *partition.limit <= short_limit) {
    return "for short jobs: at most " + jobs::clock_text(*partition.limit);
  }
  const bool named =
      std::ranges::any_of(test_names, [&](const char* word) { return name.contains(word); });
  return named ? "for tests, by its name" : "";
}

void add_gpus(PartitionView& view, const ClusterNode& node) {
  if (node.gpus == 0) return;
  auto row = std::ranges::find(view.gpus, node.gpu_kind, &PartitionView::Gpus::kind);
  if (row == view.gpus.end()) row = view.gpus.insert(row, {node.gpu_kind, 0, 0});
  row->total += node.gpus;
  if (node.usable) row->free += node.gpus - node.used_gpus;
}

std::string limit_text(const Partition& partition) {
  return partition.limit ? jobs::clock_text(*partition.limit) : "none";
}

// Of nodes or GPUs that are free.
std::string count_text(std::int64_t count, const PartitionView& view) {
  return view.usage_known ? fmt::to_string(count) : "?";
}

std::string gpus_text(const PartitionView& view) {
  std::vector<std::string> parts;
  for (const auto& gpus : view.gpus) {
    parts.push_back(fmt::format("{}/{}{}", count_text(gpus.free, view), gpus.total,
                                gpus.kind.empty() ? "" : " " + printable(gpus.kind)));
  }
  return parts.empty() ? "-" : join(parts, ", ");
}

std::string notes_text(const PartitionView& view, std::int64_t usual_priority) {
  std::vector<std::string> notes;
  if (view.partition.is_default) notes.push_back("default");
  if (view.partition.state != "UP") notes.push_back(lower(view.partition.state));
  if (!view.debug.empty()) notes.push_back("debug: " + view.debug);
  if (view.partition.priority > usual_priority) {
    notes.push_back(fmt::format("its jobs go first (priority tier {})", view.partition.priority));
  }
  if (view.partition.most_nodes) {
    notes.push_back(fmt::format("at most {} nodes a job", *view.partition.most_nodes));
  }
  if (!view.partition.notes.empty()) notes.push_back(printable(view.partition.notes));
  return join(notes, "; ");
}

std::string partitions_text(const std::vector<PartitionView>& views, std::string_view word) {
  std::vector<std::vector<std::string>> rows = {
      {std::string(word), "LIMIT", "NODES", "IDLE", "FREE GPUS", "NOTES"}};
  for (const PartitionView& view : views) {
    const std::string& name = view.partition.name;
    rows.push_back({name.empty() ? "(no pool)" : printable(name), limit_text(view.partition),
                    fmt::to_string(view.nodes), count_text(std::ssize(view.idle), view),
                    gpus_text(view), notes_text(view, views.front().partition.priority)});
  }
  return report::columns_text(rows, {1, 2, 3});
}

template <class T>
std::string or_unknown(const std::optional<T>& value) {
  return value ? fmt::to_string(*value) : "?";
}

// Kueue tells how many jobs are in a queue, Run:AI a project's quota.
std::string queues_text(const std::vector<engines::AdmissionQueue>& queues, std::string_view word) {
  const bool has_jobs = queues.front().waiting.has_value();
  std::vector<std::vector<std::string>> rows = {{std::string(word), "OF"}};
  const auto add = [&](std::initializer_list<std::string> cells) {
    rows.back().insert(rows.back().end(), cells);
  };
  has_jobs ? add({"WAITING", "RUNNING"}) : add({"GPU QUOTA"});
  for (const engines::AdmissionQueue& queue : queues) {
    rows.push_back({printable(queue.name), queue.serves.empty() ? "-" : printable(queue.serves)});
    has_jobs ? add({or_unknown(queue.waiting), or_unknown(queue.running)})
             : add({or_unknown(queue.gpus)});
  }
  return report::columns_text(rows, {2, 3});
}

std::string compact_text(const ClusterPage& page) {
  std::string text;
  for (const placement::CompactSet& set : page.compact) {
    text += fmt::format("most idle nodes in one {}: {} in {}: {}\n", set.level, set.hosts.size(),
                        printable(join(set.domain, "/")),
                        printable(hosts::compress_hostlist(set.hosts)));
  }
  return text;
}

std::string quota_text(const FileSystem& place) {
  if (!place.quota) return "-";
  return fmt::format("{} of {}", bytes_text(static_cast<double>(place.quota->used_bytes)),
                     bytes_text(static_cast<double>(place.quota->limit_bytes)));
}

std::string file_systems_text(const std::vector<FileSystem>& places) {
  std::vector<std::vector<std::string>> rows = {
      {"USE", "PATH", "FREE", "SIZE", "QUOTA USED", "TYPE", "SEEN BY"}};
  for (const FileSystem& place : places) {
    const std::string seen = !place.shared   ? "?"
                             : *place.shared ? "all nodes"
                                             : "local disk (perhaps exported)";
    const std::string type = place.type.empty() ? "?" : printable(place.type);
    if (place.space) {
      rows.push_back({place.use, printable(place.path),
                      bytes_text(static_cast<double>(place.space->free_bytes)),
                      bytes_text(static_cast<double>(place.space->total_bytes)), quota_text(place),
                      type, seen});
    } else {
      rows.push_back({place.use, printable(place.path), place.trouble, "", "", type, seen});
    }
  }
  return report::columns_text(rows, {});
}

json json_of(const PartitionView& view) {
  const Partition& partition = view.partition;
  json gpus = json::array();
  for (const auto& row : view.gpus) {
    gpus.push_back({{"kind", or_null(row.kind)},
                    {"total", row.total},
                    {"free", or_null(view.usage_known, row.free)}});
  }
  const auto seconds = [](const std::optional<std::chrono::seconds>& time) {
    return or_null(time);
  };
  return {{"name", partition.name},
          {"default", partition.is_default},
          {"state", partition.state},
          {"debug", !view.debug.empty()},
          {"limit_s", seconds(partition.limit)},
          {"default_limit_s", seconds(partition.default_limit)},
          {"most_nodes", or_null(partition.most_nodes)},
          {"priority", partition.priority},
          {"nodes", view.nodes},
          {"idle_nodes", or_null(view.usage_known, view.idle.size())},
          {"idle", or_null(view.usage_known, hosts::compress_hostlist(view.idle))},
          {"notes", or_null(partition.notes)},
          {"gpus", std::move(gpus)}};
}

json json_of(const FileSystem& place) {
  json out = {{"use", place.use},
              {"path", place.path},
              {"type", or_null(place.type)},
              {"shared", or_null(place.shared)},
              {"trouble", or_null(place.trouble)},
              {"quota", nullptr}};
  const auto number = [&](std::uint64_t process::DiskSpace::*member) {
    return place.space ? json((*place.space).*member) : json(nullptr);
  };
  out["free_bytes"] = number(&process::DiskSpace::free_bytes);
  out["total_bytes"] = number(&process::DiskSpace::total_bytes);
  out["free_files"] = number(&process::DiskSpace::free_files);
  if (place.quota) {
    out["quota"] = {{"used_bytes", place.quota->used_bytes},
                    {"limit_bytes", place.quota->limit_bytes}};
  }
  return out;
}

std::string json_of(const ClusterPage& page) {
  json partitions = json::array();
  for (const PartitionView& view : page.partitions) partitions.push_back(json_of(view));
  json queues = json::array();
  for (const engines::AdmissionQueue& queue : page.queues) {
    queues.push_back({{"name", queue.name},
                      {"serves", queue.serves},
                      {"waiting", or_null(queue.waiting)},
                      {"running", or_null(queue.running)},
                      {"gpus", or_null(queue.gpus)}});
  }
  json compact = json::array();
  for (const placement::CompactSet& set : page.compact) {
    compact.push_back({{"level", set.level}, {"domain", set.domain}, {"nodes", set.hosts}});
  }
  json places = json::array();
  for (const FileSystem& place : page.file_systems) places.push_back(json_of(place));
  const json document = {
      {"schema", "toprun.cluster/1"},        {"engine", or_null(page.engine)},
      {"partitions", std::move(partitions)}, {"queues", std::move(queues)},
      {"compact", std::move(compact)},       {"file_systems", std::move(places)}};
  return json_text(document, 2) + '\n';
}

std::string text_of(const ClusterPage& page) {
  std::string text;
  if (!page.partitions.empty())
    text += partitions_text(page.partitions, page.partition_word) + '\n';
  if (!page.queues.empty()) text += queues_text(page.queues, page.queue_word) + '\n';
  if (!page.compact.empty()) text += compact_text(page) + '\n';
  return text + file_systems_text(page.file_systems);
}

// On a login node only the engine knows the nodes' locations.
std::vector<placement::CompactSet> compact_of(const std::vector<ClusterNode>& nodes,
                                              const std::string& topology, engines::QueueKind kind,
                                              const Environment& environment) {
  const bool by_labels = topology == "auto" && engines::has_pods(kind);
  const std::string source = by_labels            ? "k8s"
                             : topology == "auto" ? std::string(name_of(kind))
                                                  : topology;
  topology::Request request{source, {}, environment};
  std::vector<std::string> idle;
  for (const ClusterNode& node : nodes) {
    if (!node.idle) continue;
    idle.push_back(node.name);
    request.members.push_back({node.name, {}, {}});
  }
  if (idle.empty()) return {};
  const auto map = topology::locate(std::move(request));
  if (map) return placement::compact_sets(*map, idle);
  if (!by_labels) say(map.error().line());  // most clusters have no such labels
  return {};
}

}  // namespace

Result<int> run_cluster(const options::Call& call) {
  const Environment& environment = call.environment;
  ClusterPage page;
  // This comes first, while the process has one thread.
  page.file_systems = file_systems(environment);
  const auto queue = engines::find_queue(environment);
  int code = 0;
  // Without any engine the file systems are all that there is to show.
  const bool is_named = environment.non_empty("TOPRUN_ON").has_value();
  if (!queue) code = is_named ? give_up(queue.error()) : (say(queue.error().line()), 0);
  if (queue) {
    const auto machines = (*queue)->machines();
    if (!machines) {
      code = give_up(machines.error());
    } else {
      page.engine = (*queue)->engine();
      for (const std::string& line : machines->untold) say(line);
      const bool is_nothing_reported = machines->nodes.empty() && machines->queues.empty();
      if (is_nothing_reported && !machines->untold.empty()) code = exit_failure;
      page.partition_word = machines->partition_word;
      page.queue_word = machines->queue_word;
      page.partitions = views_of(*machines);
      page.queues = machines->queues;
      if (machines->usage_known) {
        page.compact = compact_of(machines->nodes, call.text(FlagId::topology).value_or("auto"),
                                  (*queue)->kind(), environment);
      }
    }
  }
  const int printed = call.has(FlagId::json) ? print_bytes(json_of(page)) : print(text_of(page));
  return printed == 0 ? code : printed;
}

std::vector<PartitionView> views_of(const Machines& machines) {
  std::vector<PartitionView> views;
  for (const Partition& partition : machines.partitions) {
    PartitionView view{partition, 0, {}, {}, machines.usage_known, debug_reason(partition)};
    for (const ClusterNode& node : machines.nodes) {
      if (std::ranges::find(node.partitions, partition.name) == node.partitions.end()) continue;
      ++view.nodes;
      if (node.idle) view.idle.push_back(node.name);
      add_gpus(view, node);
    }
    views.push_back(std::move(view));
  }
  std::ranges::stable_partition(
      views, [](const PartitionView& view) { return view.partition.is_default; });
  return views;
}

}  // namespace toprun::cli
