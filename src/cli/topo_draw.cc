#include "cli/topo_draw.h"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/print.h"
#include "cli/topo_job.h"
#include "cli/values.h"
#include "placement/sketch.h"
#include "view/ring_dot.h"
#include "view/ring_layout.h"
#include "view/ring_svg.h"

namespace toprun::cli {
namespace {

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

std::string svg_text(const placement::Sketch& sketch, const std::string& order) {
  return view::ring_svg(view::ring_layout(sketch, order));
}

struct DrawnFormat {
  std::string_view name;  // as --format takes it
  std::string (*text)(const placement::Sketch&, const std::string& order);
};
constexpr std::array formats = {
    DrawnFormat{"svg", svg_text},
    DrawnFormat{"dot", view::ring_dot},
};

struct DrawOptions {
  JobOptions job;
  std::string format = "svg";
  std::string order = "topology";
  std::size_t segment = 1;
};

// The row of a table of that name.
template <class Table>
Result<typename Table::const_pointer> find_row(const Table& table, const std::string& option,
                                               const std::string& name) {
  const auto row = std::ranges::find(table, name, &Table::value_type::name);
  if (row != table.end()) return &*row;
  std::vector<std::string> names;
  for (const auto& known : table) names.emplace_back(known.name);
  return usage(fmt::format("{} {}", option, name), "there is no such thing",
               fmt::format("there are {}", join(names, ", ")));
}

std::string words_of(const DrawnOrder& order, std::size_t segment) {
  return segment == 1 ? std::string(order.words)
                      : fmt::format("{}, segments of {}", order.words, segment);
}

Result<int> print_picture(const DrawOptions& options, const Environment& environment) {
  const auto format = find_row(formats, "--format", options.format);
  if (!format) return std::unexpected(format.error());
  const auto order = find_row(orders, "--order", options.order);
  if (!order) return std::unexpected(order.error());
  if (options.segment > 1 && (*order)->order != placement::Order::topology) {
    return usage(fmt::format("--segment with --order {}", options.order),
                 "only the topology order has segments", "leave one of them out");
  }
  const auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto tree = placement::place(job->hosts, job->map);
  if (!tree) return std::unexpected(tree.error());
  const auto drawn = placement::place(job->hosts, job->map,
                                      {.order = (*order)->order, .segment = options.segment});
  if (!drawn) return std::unexpected(drawn.error());
  const int code =
      print((*format)->text(placement::sketch(*tree, *drawn), words_of(**order, options.segment)));
  say_what_is_unknown(drawn->source, drawn->warnings);
  return code;
}

}  // namespace

int run_topo_draw(const std::vector<std::string>& arguments, const Environment& environment) {
  DrawOptions options;
  CLI::App app("A picture of the network's domains and of the ring that the nodes' order makes.",
               "toprun topo draw");
  add_job_options(app, options.job);
  app.add_option("--nproc-per-node,--nproc_per_node", options.job.nproc_per_node,
                 "processes per node, 1 unless given")
      ->check(CLI::Range(1, max_processes_per_node));
  app.add_option("--order", options.order,
                 "topology (unless given), given, name, or torchrun: whose ring is drawn");
  app.add_option("--segment", options.segment,
                 "with the topology order: keep groups of so many nodes inside one domain")
      ->check(CLI::Range(1, max_nodes));
  app.add_option("--format", options.format, "svg (unless given), or dot for Graphviz");
  app.footer(
      "Examples:\n"
      "  toprun topo draw --topology racks.txt > ring.svg\n"
      "  toprun topo draw --topology racks.txt --order given --format dot | dot -Tpdf > ring.pdf");
  if (const auto code = parse(app, arguments)) return *code;
  const auto printed = print_picture(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
