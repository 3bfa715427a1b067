#include "engines/runai/machines.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"
#include "engines/runai/table.h"

namespace toprun::engines::runai {
namespace {

using nlohmann::json;

constexpr const char* version_fix = "set TOPRUN_RUNAI_CLI to v1 or v2, the version of this runai";
constexpr std::string_view separator = "│";

std::vector<std::string_view> groups_of(std::string_view line) {
  std::vector<std::string_view> groups;
  while (true) {
    const std::size_t end = line.find(separator);
    groups.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return groups;
    line.remove_prefix(end + separator.size());
  }
}

// The word under a heading, where headings and values are single words.
std::string under(std::string_view heading, std::string_view headings, std::string_view values) {
  const auto names = words(headings);
  const auto cells = words(values);
  const auto found = static_cast<std::size_t>(std::ranges::find(names, heading) - names.begin());
  return found < cells.size() && found < names.size() ? std::string(cells[found]) : std::string();
}

void set_usable(ClusterNode& node, std::string_view status) {
  node.state = status.empty() ? "not ready" : lower(status);
  node.usable = node.state == "ready";
}

ClusterNode node_in(std::string_view line, const std::vector<std::string_view>& headings,
                    std::size_t of_gpus) {
  const auto cells = groups_of(line);
  ClusterNode node;
  node.partitions = {""};
  node.name = under("NAME", headings.front(), cells.front());
  set_usable(node, under("STATUS", headings.front(), cells.front()));
  if (of_gpus >= cells.size()) return node;
  const auto count = [&](std::string_view heading) {
    const auto number = parse_double(under(heading, headings[of_gpus], cells[of_gpus]));
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(number.value_or(0)));
  };
  node.gpus = count("ALLOCATABLE");
  node.used_gpus = node.gpus - std::min(node.gpus, count("FREE"));
  node.idle = node.usable && node.gpus > 0 && node.used_gpus == 0;
  return node;
}

Result<std::vector<ClusterNode>> nodes_in_table(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto header = std::ranges::find_if(lines, [](std::string_view line) {
    return line.starts_with("NAME ") && line.contains(separator);
  });
  if (header == lines.end() || header == lines.begin())
    return not_understood(text, "a table", version_fix);
  const auto titles = groups_of(*(header - 1));
  const auto of_gpus = static_cast<std::size_t>(std::ranges::find(titles, "GPU") - titles.begin());
  const auto headings = groups_of(*header);
  std::vector<ClusterNode> nodes;
  for (auto line = header + 1; line != lines.end(); ++line) {
    if (!line->contains(separator) || line->starts_with("─")) continue;
    nodes.push_back(node_in(*line, headings, std::min(of_gpus, headings.size())));
  }
  return nodes;
}

// The array in what v2 prints, whatever it is the value of.
Result<json> list_in(std::string_view text) {
  json value = json_in(text);
  if (value.is_array()) return value;
  if (!value.is_object()) return not_understood(text, "JSON", version_fix);
  for (const json& member : value) {
    if (member.is_array()) return member;
  }
  return not_understood(text, "a list", version_fix);
}

ClusterNode node_of(const json& reported) {
  ClusterNode node;
  node.name = kubernetes::text_at(reported, {"name"});
  node.partitions = {kubernetes::text_at(reported, {"nodePool"})};
  set_usable(node, kubernetes::text_at(reported, {"status"}));
  node.gpus = std::max<std::int64_t>(0, kubernetes::number_at(reported, {"gpuInfo", "gpuCount"}));
  node.gpu_kind = kubernetes::text_at(reported, {"gpuInfo", "gpuType"});
  return node;
}

AdmissionQueue project_of(const json& reported) {
  AdmissionQueue project;
  project.name = kubernetes::text_at(reported, {"name"});
  for (const json& pool : kubernetes::at(reported, {"resources"})) {
    const json& deserved = kubernetes::at(pool, {"gpu", "deserved"});
    if (deserved.is_number()) {
      project.gpus = project.gpus.value_or(0) + deserved.get<double>();
    }
  }
  return project;
}

Result<std::vector<AdmissionQueue>> projects_in_table(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto header = std::ranges::find_if(
      lines, [](std::string_view line) { return line.starts_with("PROJECT "); });
  if (header == lines.end()) return not_understood(text, "a table", version_fix);
  std::vector<AdmissionQueue> projects;
  for (auto line = header + 1; line != lines.end() && !trim(*line).empty(); ++line) {
    AdmissionQueue project;
    // "mlo (default)"
    const std::string name = cell(*line, column(*header, "PROJECT"));
    project.name = name.substr(0, name.find(' '));
    project.serves = cell(*line, column(*header, "DEPARTMENT"));
    project.gpus = parse_double(cell(*line, column(*header, "DESERVED GPUs")));
    projects.push_back(std::move(project));
  }
  return projects;
}

}  // namespace

Result<std::vector<ClusterNode>> parse_nodes(std::string_view text, Cli cli) {
  if (cli == Cli::v1) return nodes_in_table(text);
  const auto list = TRY(list_in(text));
  std::vector<ClusterNode> nodes;
  for (const json& reported : list) nodes.push_back(node_of(reported));
  return nodes;
}

Result<std::vector<AdmissionQueue>> parse_projects(std::string_view text, Cli cli) {
  if (cli == Cli::v1) return projects_in_table(text);
  const auto list = TRY(list_in(text));
  std::vector<AdmissionQueue> projects;
  for (const json& reported : list) projects.push_back(project_of(reported));
  return projects;
}

}  // namespace toprun::engines::runai
