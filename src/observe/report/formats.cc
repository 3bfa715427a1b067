#include "observe/report/formats.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "decide/placement/groups.h"

namespace toprun::report {
namespace {

void append_number(std::string& out, int number) {
  out += std::string_view(fmt::format_int(number).c_str());
}

// A row of a table: a node and its first rank in this order.
struct Row {
  const placement::Node* node = nullptr;
  int first_rank = 0;
};

std::vector<Row> rows_as_given(const placement::Placement& placement) {
  std::vector<Row> rows(placement.nodes.size() + placement.spare.size());
  for (const placement::Node& node : placement.nodes) rows[node.index].node = &node;
  std::erase_if(rows, [](const Row& row) { return row.node == nullptr; });  // the spare nodes
  int rank = 0;
  for (Row& row : rows) row.first_rank = std::exchange(rank, rank + row.node->nproc);
  return rows;
}

std::vector<Row> rows_as_ordered(const placement::Placement& placement) {
  std::vector<Row> rows;
  rows.reserve(placement.nodes.size());
  for (const placement::Node& node : placement.nodes) rows.push_back({&node, node.first_rank});
  return rows;
}

// Fills the column that starts at `start` in `out` up to its width, and adds the gap behind it.
void end_column(std::string& out, std::size_t start, std::size_t width) {
  constexpr std::size_t gap = 2;
  const std::size_t used = out.size() - start;
  out.append((width > used ? width - used : 0) + gap, ' ');
}

void append_table(std::string& out, std::string_view title, const std::vector<Row>& rows) {
  constexpr std::string_view rank = "rank";
  constexpr std::string_view hostname = "hostname";
  std::size_t rank_width = rank.size();
  std::size_t name_width = hostname.size();
  for (const Row& row : rows) {
    rank_width = std::max(rank_width, fmt::format_int(row.first_rank).size());
    name_width = std::max(name_width, row.node->name.size());
  }
  out += fmt::format("{}\n{:<{}}  {:<{}}  physical_host\n", title, rank, rank_width, hostname,
                     name_width);
  constexpr std::size_t usual_place = 48;
  out.reserve(out.size() + rows.size() * (rank_width + name_width + usual_place));
  for (const auto& [node, first_rank] : rows) {
    const std::size_t start = out.size();
    append_number(out, first_rank);
    end_column(out, start, rank_width);
    const std::size_t middle = out.size();
    out += node->name;
    end_column(out, middle, name_width);
    const std::size_t place = out.size();
    topology::append_location(out, node->location, node->name);
    if (!is_printable(std::string_view(out).substr(place))) {
      const std::string shown = printable(std::string_view(out).substr(place));
      out.replace(place, out.npos, shown);
    }
    out += '\n';
  }
}

std::string table_text(const placement::Placement& placement) {
  std::string out;
  append_table(out, "Standard", rows_as_given(placement));
  append_table(out, "Sorted by topology", rows_as_ordered(placement));
  return out;
}

// nullptr: not requested.
const std::string* explanation_of(const placement::Placement& placement,
                                  const placement::Node& node) {
  if (placement.node_explanations.empty()) return nullptr;
  const std::string& why =
      placement.node_explanations[static_cast<std::size_t>(&node - placement.nodes.data())];
  return why.empty() ? nullptr : &why;
}

// The levels at which the node has no domain: in `path` they look like unknown ones.
void write_missing_levels(JsonWriter& json, const placement::Placement& placement,
                          const placement::Node& node) {
  const topology::Path& path = node.location.path;
  if (std::ranges::none_of(path, &topology::Domain::is_none)) return;
  std::vector<std::string> missing;
  for (std::size_t level = 0; level < path.size(); ++level) {
    if (path[level].is_none()) missing.push_back(placement.levels[level]);
  }
  json.raw(", \"has_no\": ").texts(missing);
}

std::string placement_json(const placement::Placement& placement) {
  constexpr std::string_view next_line = ",\n  ";
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.topo_order/1\",\n \"source\": ").text(placement.source);
  json.raw(",\n \"levels\": ").texts(placement.levels);
  json.raw(",\n \"order\": ").list(placement.nodes, [&](const placement::Node& node) {
    json.text(node.name);
  });
  json.raw(",\n \"nodes\": ");
  json.list(
      placement.nodes,
      [&](const placement::Node& node) {
        json.raw("{\"name\": ").text(node.name).raw(", \"path\": ");
        json.list(node.location.path, [&](const auto& domain) { json.optional(domain.name()); });
        write_missing_levels(json, placement, node);
        if (const std::size_t seat = node.location.path.seat())
          json.raw(", \"seat\": ").number(seat);
        json.raw(", \"first_rank\": ").number(static_cast<std::size_t>(node.first_rank));
        json.raw(", \"nproc\": ").number(static_cast<std::size_t>(node.nproc));
        json.raw(", \"evidence\": ");
        node.placed ? json.text(node.location.evidence.text()) : json.raw("null");
        if (const std::string* why = explanation_of(placement, node)) {
          json.raw(", \"explanation\": ").text(*why);
        }
        json.raw("}");
      },
      next_line);
  json.raw(",\n \"ring\": ");
  json.list(
      placement.ring,
      [&](const placement::Crossings& ring) {
        json.raw("{\"level\": ").text(ring.level).raw(", \"given\": ").number(ring.given);
        json.raw(", \"ordered\": ").number(ring.ordered);
        json.raw(", \"minimum\": ").number(ring.minimum).raw("}");
      },
      next_line);
  if (placement.mapping) {
    json.raw(",\n \"parallel\": ").raw(mapping_json(*placement.mapping));
  }
  if (!placement.explanation.empty()) {
    json.raw(",\n \"explanation\": ").texts(placement.explanation);
  }
  json.raw(",\n \"unplaced\": ").texts(placement.unplaced);
  json.raw(",\n \"spare\": ").texts(placement.spare);
  json.raw(",\n \"warnings\": ").texts(placement.warnings).raw("}\n");
  return json.take();
}

std::string hosts_text(const placement::Placement& placement) {
  std::string out;
  for (const placement::Node& node : placement.nodes) (out += node.name) += '\n';
  return out;
}

// Open MPI's mpirun(1), "Hostfiles"; DeepSpeed's host file has the same form.
std::string slots_text(const placement::Placement& placement) {
  std::string out;
  for (const placement::Node& node : placement.nodes) {
    if (node.nproc == 0) continue;
    (out += node.name) += " slots=";
    append_number(out, node.nproc);
    out += '\n';
  }
  return out;
}

// Open MPI's mpirun(1), "Rankfiles": a slot is a core of the host; mpirun binds the rank to it.
std::string rankfile_text(const placement::Placement& placement) {
  std::string out;
  for (const placement::Node& node : placement.nodes) {
    for (int slot = 0; slot < node.nproc; ++slot) {
      out += "rank ";
      append_number(out, node.first_rank + slot);
      ((out += '=') += node.name) += " slot=";
      append_number(out, slot);
      out += '\n';
    }
  }
  return out;
}

// srun(1), SLURM_HOSTFILE, and Open MPI's mpirun(1), "--map-by seq".
std::string ranks_text(const placement::Placement& placement) {
  std::string out;
  for (const placement::Node& node : placement.nodes) {
    for (int slot = 0; slot < node.nproc; ++slot) (out += node.name) += '\n';
  }
  return out;
}

// A list in one line is valid in a YAML manifest and as JSON.
std::string kubernetes_text(const placement::Placement& placement) {
  JsonWriter json;
  json.list(placement.nodes, [&](const placement::Node& node) { json.text(node.name); }).raw("\n");
  return json.take();
}

// DLRover's --enable-topology-rerank reads {node address: group}. The name of a group is its whole
// path, because racks of two clusters may have equal names. DLRover itself handles nodes that are
// not in the list.
std::string dlrover_text(const placement::Placement& placement) {
  JsonWriter json;
  json.raw("{");
  std::string_view separator;
  for (const placement::Node& node : placement.nodes) {
    if (!node.placed || !node.location.path.back()) continue;
    std::string group;
    for (const auto& domain : node.location.path) {
      if (&domain != &node.location.path.front()) group += '/';
      group += *domain;
    }
    json.raw(std::exchange(separator, ", ")).text(node.name).raw(": ").text(group);
  }
  json.raw("}\n");
  return json.take();
}

constexpr std::array all_formats = {
    Format{"table", "ranks, hosts and places, as given and as ordered", table_text},
    Format{"json", "one object, toprun.topo_order/1", placement_json},
    Format{"hosts", "a node per line", hosts_text},
    Format{"hostfile", "for Open MPI's mpirun --hostfile: HOST slots=N", slots_text},
    Format{"rankfile", "for Open MPI's mpirun --rankfile: rank R=HOST slot=CORE", rankfile_text,
           true},
    Format{"seq", "for Open MPI's mpirun --map-by seq --hostfile: a line per rank", ranks_text,
           true},
    Format{"slurm", "for srun, as the file in SLURM_HOSTFILE: a line per task", ranks_text, true},
    Format{"deepspeed", "for deepspeed --hostfile: HOST slots=N", slots_text},
    Format{"kubernetes", "node names as a list for a manifest: [\"HOST\", ...]", kubernetes_text},
    Format{"dlrover", "for DLROVER_GROUP_TOPOLOGY: {\"HOST\": \"DOMAIN\", ...}", dlrover_text},
};

}  // namespace

std::span<const Format> formats() {
  return all_formats;
}

const Format* find_format(std::string_view name) {
  const auto found = std::ranges::find(all_formats, name, &Format::name);
  return found == all_formats.end() ? nullptr : &*found;
}

}  // namespace toprun::report
