#include "cli/topo_draw.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/files.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/topo_job.h"
#include "cli/topo_wishes.h"
#include "options/values.h"
#include "placement/cost.h"
#include "placement/score.h"
#include "placement/sketch.h"
#include "process/command.h"
#include "view/ring_dot.h"
#include "view/ring_layout.h"
#include "view/ring_svg.h"

namespace toprun::cli {
namespace {

constexpr std::chrono::seconds converter_limit{60};

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

using Sketch = placement::Sketch;

Result<std::string> svg_text(const Sketch& sketch, const std::string& order, const Environment&) {
  return view::ring_svg(view::ring_layout(sketch, order));
}

Result<std::string> dot_text(const Sketch& sketch, const std::string& order, const Environment&) {
  return view::ring_dot(sketch, order);
}

// No library that draws text is small enough for each launch to carry.
Result<std::string> png_bytes(const Sketch& sketch, const std::string& order,
                              const Environment& environment) {
  const auto finished =
      process::run({"rsvg-convert", "--format", "png"}, environment, converter_limit,
                   view::ring_svg(view::ring_layout(sketch, order)));
  if (!finished) {
    return std::unexpected(
        Error{"a PNG cannot be made", finished.error().line(),
              "install rsvg-convert (Debian: librsvg2-bin), or draw an SVG: -o ring.svg"});
  }
  if (finished->code == 0) return finished->out;
  return std::unexpected(Error{fmt::format("rsvg-convert ended with {}", finished->code),
                               std::string(trim(finished->err)), "draw an SVG: -o ring.svg"});
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

struct DrawOptions {
  JobOptions job;
  WishOptions wishes;
  std::optional<std::string> format;
  std::optional<std::string> file;
  std::optional<std::string> groups;
  std::string order = "topology";
};

template <class Table>
std::string names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return join(names, ", ");
}

Result<const DrawnFormat*> format_of(const DrawOptions& options) {
  std::string name = options.format.value_or("svg");
  std::string option = fmt::format("--format {}", name);
  if (options.file && !options.format) {
    option = fmt::format("-o {}", *options.file);
    const std::string suffix = std::filesystem::path(*options.file).extension();
    name = suffix.empty() ? suffix : suffix.substr(1);
  }
  const auto row = std::ranges::find(formats, name, &DrawnFormat::name);
  if (row != formats.end()) return &*row;
  return usage(option, fmt::format("{} is no form of a picture", name.empty() ? "this" : name),
               fmt::format("there are {}", names_in(formats)));
}

// An order to be drawn, and what it is in words.
struct Drawn {
  placement::Placement placement;
  std::string words;
};

Result<Drawn> drawn_as_listed(const std::string& file, const Job& job) {
  const auto text = read_file(file);
  if (!text) {
    return usage(fmt::format("--order {}", file), "it is no order, nor a file that can be read",
                 fmt::format("there are {}, or a file with host names", names_in(orders)));
  }
  auto placed = placement::place_as_listed(job.hosts, job.map, *text, file);
  if (!placed) return std::unexpected(placed.error());
  return Drawn{*std::move(placed), "the order of " + file};
}

Result<void> check_wishes(const DrawOptions& options) {
  const WishOptions& wishes = options.wishes;
  const std::array given = {std::pair{"--segment", wishes.segment > 1},
                            std::pair{"--nnodes", wishes.nodes > 0},
                            std::pair{"--stable", wishes.before.has_value()}};
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    return usage(fmt::format("{} with --order {}", name, options.order),
                 "only the topology order respects it", "leave one of them out");
  }
  return {};
}

std::string words_of(const DrawnOrder& order, std::size_t segment) {
  return segment == 1 ? std::string(order.words)
                      : fmt::format("{}, segments of {}", order.words, segment);
}

Result<Drawn> draw_order(const DrawOptions& options, const Job& job,
                         const std::optional<placement::Plan>& plan) {
  const auto row = std::ranges::find(orders, options.order, &DrawnOrder::name);
  const bool by_topology = row != orders.end() && row->order == placement::Order::topology;
  if (!by_topology) {
    if (const auto checked = check_wishes(options); !checked) {
      return std::unexpected(checked.error());
    }
    if (row == orders.end()) return drawn_as_listed(options.order, job);
  }
  auto wishes = wishes_of(options.wishes, by_topology ? plan : std::nullopt);
  if (!wishes) return std::unexpected(wishes.error());
  wishes->order = row->order;
  auto placed = placement::place(job.hosts, job.map, *wishes);
  if (!placed) return std::unexpected(placed.error());
  return Drawn{*std::move(placed), words_of(*row, options.wishes.segment)};
}

std::vector<int> processes_of(const placement::Placement& placement) {
  std::vector<int> processes;
  for (const placement::Node& node : placement.nodes) processes.push_back(node.nproc);
  return processes;
}

// The groups that colours tell apart; nothing without --parallel.
Result<std::optional<placement::Teams>> teams_of(const DrawOptions& options, const Job& job,
                                                 const placement::Placement& drawn,
                                                 const std::optional<placement::Plan>& plan) {
  if (!plan) {
    if (!options.groups) return std::nullopt;
    return usage("--groups", "it chooses among the groups of --parallel, which is not given",
                 "add --parallel tp=8,pp=4 or leave it out");
  }
  std::optional<placement::Kind> kind;
  if (options.groups) {
    kind = placement::find_kind(*options.groups);
    if (!kind) {
      return usage(fmt::format("--groups {}", *options.groups), "there is no such kind",
                   "there are tp, cp, ep, etp, dp, edp and pp");
    }
  }
  const auto prepared = placement::prepare(*plan, job.map, processes_of(drawn));
  if (!prepared) return std::unexpected(prepared.error());
  auto teams = placement::teams_of(drawn, *prepared, kind);
  if (!teams) say("no parallel group is on two nodes: there is nothing to tell apart by colour");
  return teams;
}

Result<Sketch> sketch_of(const DrawOptions& options, const Job& job, const Drawn& drawn,
                         const std::optional<placement::Plan>& plan) {
  const auto tree = placement::place(job.hosts, job.map);
  if (!tree) return std::unexpected(tree.error());
  const auto teams = teams_of(options, job, drawn.placement, plan);
  if (!teams) return std::unexpected(teams.error());
  Sketch sketch =
      placement::sketch(*tree, drawn.placement, teams->has_value() ? &**teams : nullptr);
  const auto told = options::parse_links(options.wishes.plan);
  if (!told) return std::unexpected(told.error());
  const auto links = placement::links_of(job.map, *told, options.job.nproc_per_node);
  if (!links) return std::unexpected(links.error());
  if (!placement::all_links_assumed(*links)) {
    sketch.step_seconds =
        placement::ring_step_seconds(*links, sketch.nodes, placement::usual_message_bytes);
  }
  return sketch;
}

Result<int> make_picture(const DrawOptions& options, const Environment& environment) {
  const auto format = format_of(options);
  if (!format) return std::unexpected(format.error());
  const auto plan = options::parse_plan(options.wishes.plan);
  if (!plan) return std::unexpected(plan.error());
  const auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto drawn = draw_order(options, *job, *plan);
  if (!drawn) return std::unexpected(drawn.error());
  const auto sketch = sketch_of(options, *job, *drawn, *plan);
  if (!sketch) return std::unexpected(sketch.error());
  const auto picture = (*format)->text(*sketch, drawn->words, environment);
  if (!picture) return std::unexpected(picture.error());
  say_what_is_unknown(drawn->placement.source, drawn->placement.warnings);
  if (!options.file) return print_bytes(*picture);
  if (auto written = replace_file(*options.file, *picture); !written) {
    return std::unexpected(written.error());
  }
  return 0;
}

}  // namespace

int run_topo_draw(const std::vector<std::string>& arguments, const Environment& environment) {
  DrawOptions options;
  CLI::App app("A picture of the network's domains and of the ring that the nodes' order makes.",
               "toprun topo draw");
  add_job_options(app, options.job);
  add_processes_option(app, options.job);
  app.add_option("--order", options.order,
                 "topology (unless given), given, name, torchrun, or a file with host names: whose "
                 "ring is drawn")
      ->type_name("topology|given|name|torchrun|FILE");
  add_wish_options(app, options.wishes);
  app.add_option("--groups", options.groups,
                 "which groups of --parallel have a colour each: tp, cp, ep, etp, dp, edp or pp; "
                 "the costliest that leave a node unless given")
      ->type_name("KIND");
  app.add_option("-o,--output", options.file, "a file: .svg, .png (by rsvg-convert) or .dot")
      ->type_name("FILE");
  app.add_option("--format", options.format,
                 "svg (unless given), png, or dot for Graphviz; goes before the file's suffix")
      ->type_name("svg|png|dot");
  app.footer(
      "Examples:\n"
      "  toprun topo draw --topology racks.txt -o ring.svg\n"
      "  toprun topo draw --topology racks.txt --nproc-per-node 8 --parallel tp=8,pp=4 -o "
      "ring.png\n"
      "  toprun topo draw --topology racks.txt --order given --format dot | dot -Tpdf > ring.pdf");
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, rank_flags)) return *code;
  if (options.order == "topology") {
    if (const auto code = fill_wishes_as_launched(app, environment, options.wishes)) return *code;
  }
  const auto made = make_picture(options, environment);
  return made ? *made : give_up(made.error());
}

}  // namespace toprun::cli
