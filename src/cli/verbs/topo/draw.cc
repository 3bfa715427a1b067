#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "cli/options/plan_options.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/topo/job.h"
#include "decide/cost/cost.h"
#include "decide/placement/score.h"
#include "observe/picture/picture_file.h"
#include "observe/picture/ring_layout.h"
#include "observe/picture/ring_svg.h"
#include "observe/picture/sketch.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

struct DrawnOrder {
  std::string_view name;   // as --order takes it
  std::string_view words;  // in the picture's title
  placement::Order order;
};
constexpr std::array orders = {
    DrawnOrder{"topology", "topology order", placement::Order::topology},
    DrawnOrder{"given", "the order given", placement::Order::given},
    DrawnOrder{"name", "order of names", placement::Order::name},
    DrawnOrder{"torchrun", "torchrun's order", placement::Order::torchrun},
};

using Sketch = picture::Sketch;

Result<std::string> svg_text(const Sketch& sketch, const std::string& order, const Environment&) {
  return picture::ring_svg(picture::ring_layout(sketch, order));
}

Result<std::string> dot_text(const Sketch& sketch, const std::string& order, const Environment&) {
  return picture::ring_dot(sketch, order);
}

Result<std::string> png_bytes(const Sketch& sketch, const std::string& order,
                              const Environment& environment) {
  return picture::png_of(picture::ring_svg(picture::ring_layout(sketch, order)), environment);
}

struct DrawnFormat {
  std::string_view name;  // as --format takes it, and a file's suffix
  Result<std::string> (*text)(const Sketch&, const std::string& order, const Environment&);
};
constexpr std::array formats = {
    DrawnFormat{"svg", svg_text},
    DrawnFormat{"png", png_bytes},
    DrawnFormat{"dot", dot_text},
};

template <class Table>
std::string names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return join(names, ", ");
}

Result<const DrawnFormat*> format_of(const Call& call) {
  const auto argument = call.argument(FlagId::format);
  const auto file = output_file(call);
  std::string name = call.text(FlagId::format).value_or("svg");
  std::string option = argument ? argument->label() : "";
  if (file && !argument) {
    option = fmt::format("-o {}", *file);
    const std::string suffix = std::filesystem::path(*file).extension();
    name = suffix.empty() ? suffix : suffix.substr(1);
  }
  const auto row = std::ranges::find(formats, name, &DrawnFormat::name);
  if (row != formats.end()) return &*row;
  return usage(option, fmt::format("{} is not a picture format", name.empty() ? "this" : name),
               fmt::format("choose one of: {}", names_in(formats)));
}

// An order to draw, and its description.
struct Drawn {
  placement::Placement placement;
  std::string words;
};

Result<Drawn> drawn_as_listed(const std::string& order, const PlacedJob& job) {
  const auto listed = read_order_option(order);
  if (!listed) {
    return usage(
        fmt::format("--order {}", order),
        "this is neither the name of an order, nor a readable file, nor a list of hosts",
        fmt::format("choose one of: {}, or a file with host names, or a list such as n1,n0",
                    names_in(orders)));
  }
  auto placed = TRY(placement::place_as_listed(job.hosts, job.map, listed->text, listed->from));
  return Drawn{std::move(placed),
               listed->is_file ? "the order of " + listed->from : "the order given"};
}

// A launch's order from a file or a variable may coexist with another one.
Result<void> check_wishes(const Call& call, const std::string& order) {
  for (const FlagId id : {FlagId::segment, FlagId::requested_nodes, FlagId::earlier_order}) {
    const auto argument = call.argument(id);
    if (!argument || !argument->is_typed()) continue;
    return usage(fmt::format("{} with --order {}", argument->source, order),
                 "only the topology order uses this option", "leave one of them out");
  }
  return {};
}

std::string words_of(const DrawnOrder& order, std::size_t segment) {
  return segment == 1 ? std::string(order.words)
                      : fmt::format("{}, segments of {}", order.words, segment);
}

Result<Drawn> drawn_by_topology(const Call& call, const PlacedJob& job,
                                const std::optional<placement::Plan>& plan) {
  auto constraints = TRY(constraints_of(call, plan));
  const std::size_t segment = constraints.segment;
  auto placed = TRY(placement::place(job.hosts, job.map, std::move(constraints)));
  return Drawn{std::move(placed), words_of(orders.front(), segment)};
}

Result<Drawn> draw_order(const Call& call, const PlacedJob& job,
                         const std::optional<placement::Plan>& plan) {
  const std::string order = call.text(FlagId::drawn_order).value_or("topology");
  if (order == orders.front().name) return drawn_by_topology(call, job, plan);
  TRY(check_wishes(call, order));
  const auto row = std::ranges::find(orders, order, &DrawnOrder::name);
  if (row == orders.end()) return drawn_as_listed(order, job);
  auto placed = TRY(placement::place(job.hosts, job.map, {.order = row->order}));
  return Drawn{std::move(placed), std::string(row->words)};
}

std::vector<int> processes_of(const placement::Placement& placement) {
  std::vector<int> processes;
  for (const placement::Node& node : placement.nodes) processes.push_back(node.nproc);
  return processes;
}

// The groups that get a colour each; none without --parallel.
Result<std::optional<placement::Teams>> teams_of(const Call& call, const PlacedJob& job,
                                                 const placement::Placement& drawn,
                                                 const std::optional<placement::Plan>& plan) {
  const auto groups = call.text(FlagId::groups);
  if (!plan) {
    if (!groups) return std::nullopt;
    return usage("--groups", "this option selects groups of --parallel, and --parallel is missing",
                 "add --parallel tp=8,pp=4 or leave --groups out");
  }
  std::optional<cost::Kind> kind;
  if (groups) {
    kind = cost::find_kind(*groups);
    if (!kind) {
      return usage(fmt::format("--groups {}", *groups), "there is no kind of groups with this name",
                   "choose one of: tp, cp, ep, etp, dp, edp, pp");
    }
  }
  const auto prepared = TRY(placement::prepare(*plan, job.map, processes_of(drawn)));
  auto teams = placement::teams_of(drawn, prepared, kind);
  if (!teams)
    say("every parallel group is inside one node, so the picture shows no group in colour");
  return teams;
}

Result<Sketch> sketch_of(const Call& call, const PlacedJob& job, const Drawn& drawn,
                         const std::optional<placement::Plan>& plan) {
  const auto tree = TRY(placement::place(job.hosts, job.map));
  const auto teams = TRY(teams_of(call, job, drawn.placement, plan));
  Sketch sketch = picture::sketch(tree, drawn.placement, teams.has_value() ? &*teams : nullptr);
  const auto reported = TRY(options::parse_links(options::plan_options(call)));
  const auto links = TRY(cost::links_of(job.map, reported, job.nproc_per_node));
  if (!placement::all_links_assumed(links)) {
    sketch.step_seconds =
        cost::ring_step_seconds(links, sketch.nodes, placement::usual_message_bytes);
  }
  return sketch;
}

}  // namespace

Result<int> run_topo_draw(const options::Call& call) {
  const auto format = TRY(format_of(call));
  const bool is_text = format->name == "dot";
  if (!is_text && !call.text(FlagId::output) && ::isatty(STDOUT_FILENO) != 0) {
    return usage("standard output",
                 fmt::format("a terminal does not show a picture ({})", format->name),
                 "give -o FILE, or -o - to print it anyway");
  }
  const auto plan = TRY(options::parse_plan(options::plan_options(call)));
  const auto job = TRY(find_job(call));
  const auto drawn = TRY(draw_order(call, job, plan));
  const auto sketch = TRY(sketch_of(call, job, drawn, plan));
  const auto picture = TRY(format->text(sketch, drawn.words, call.environment));
  say_what_is_unknown(drawn.placement.source, drawn.placement.warnings);
  return put_out(call, picture);
}

}  // namespace toprun::cli
