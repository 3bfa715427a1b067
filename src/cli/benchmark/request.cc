#include "cli/benchmark/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text/text.h"
#include "bench/measure/cells.h"
#include "bench/tables/figures.h"
#include "cli/options/flags.h"
#include "cli/options/values.h"
#include "observe/picture/picture_file.h"

namespace toprun::benchmark {
namespace {

using measure::Request;
using options::Argument;
using options::Call;
using options::FlagId;

// The value of --expect-busbw that stands for what others measured.
constexpr std::string_view usual_busbw = "usual";

Result<std::optional<double>> expected_busbw(const Argument& argument) {
  if (argument.value == usual_busbw) return std::optional<double>();
  const auto value = positive(argument);
  if (!value) return usage(argument.label(), "it must be a bandwidth above 0 in GB/s, or `usual`");
  return std::optional(*value);
}

Result<std::vector<std::size_t>> counts(const Argument& argument) {
  std::vector<std::size_t> found;
  for (const std::string_view word : split(argument.value, ',')) {
    const auto count = TRY(options::parse_number({argument.source, std::string(trim(word))}, 1,
                                                 std::numeric_limits<int>::max()));
    found.push_back(static_cast<std::size_t>(count));
  }
  return found;
}

// Each of a comma-separated list once.
Result<std::vector<std::string>> words_of(const Argument& argument,
                                          std::span<const std::string_view> choices) {
  std::vector<std::string> found;
  for (const std::string_view word : split(argument.value, ',')) {
    auto chosen = TRY(options::parse_choice({argument.source, std::string(trim(word))}, choices));
    if (std::ranges::find(found, chosen) == found.end()) found.push_back(std::move(chosen));
  }
  return found;
}

// A word of a table such as bench::collectives().
template <class Rows, class Value, class Row>
Result<Value> named(const Argument& argument, const Rows& rows, Value Row::*value) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  const auto chosen = TRY(options::parse_choice(argument, names));
  return (*std::ranges::find(rows, chosen, [](const auto& row) { return row.name; })).*value;
}

// nccl-tests' name for a name of PyTorch (torch.float16, torch.long) or NCCL (ncclFloat16), or for
// a common short one.
std::string_view type_name(std::string_view name) {
  if (name == "float16" || name == "fp16") return "half";
  if (name == "float32" || name == "fp32") return "float";
  if (name == "float64" || name == "fp64") return "double";
  if (name == "bf16") return "bfloat16";
  if (name == "int") return "int32";
  return name == "long" ? "int64" : name;
}

Result<measure::Type> type_named(Argument argument) {
  argument.value = type_name(argument.value);
  return named(argument, measure::types(), &measure::TypeFacts::type);
}

// The measurement of a program that many have figures of; what is given goes before it.
void apply_preset(const Call& call, Request& request) {
  constexpr std::uint64_t its_bytes = 500'000ULL * 2000 * 4;  // a matrix of float
  if (!call.has(FlagId::min_bytes) && !call.has(FlagId::max_bytes)) {
    request.min_bytes = request.max_bytes = its_bytes;
  }
  if (!call.has(FlagId::warmups)) request.warmups = 2;
  if (call.has(FlagId::iterations)) return;
  request.iterations = 5;
  request.least_time = {};
}

Result<void> check(const Request& request) {
  const bool all_on_gpus =
      !request.backends.empty() && std::ranges::all_of(request.backends, is_on_gpus);
  if (request.collective == bench::Collective::reduce_scatter &&
      std::ranges::count(request.backends, "gloo") > 0) {
    return usage("--backend gloo", "toprun cannot measure reduce_scatter with Gloo",
                 "use --backend tcp");
  }
  if (!request.fabrics.empty() && !all_on_gpus) {
    return usage("--fabrics", "only NCCL and RCCL can choose the network", "add --backend nccl");
  }
  if (request.aggregated > 1 && !all_on_gpus) {
    return usage("--agg-iters", "only NCCL and RCCL can run several operations at once",
                 "add --backend nccl");
  }
  if (request.stable_cv &&
      std::max({request.orders.size(), request.nodes.size() + request.ranks.size(),
                request.backends.size(), request.fabrics.size()}) > 1) {
    return usage("--until-cv",
                 "toprun can repeat only one measurement; give at most one order, one backend, one "
                 "fabric, and one value of --nodes or --ranks",
                 "leave --orders, --nodes and --ranks out, and name only one backend and fabric");
  }
  TRY(measure::sizes(request));
  return {};
}

// In the words that were typed; sizes() has bytes only.
Result<void> check_range(const Call& call, const measure::Request& request) {
  const auto least = call.argument(FlagId::min_bytes);
  const auto most = call.argument(FlagId::max_bytes);
  if (!least || !most || request.min_bytes <= request.max_bytes) return {};
  return usage(fmt::format("{} and {}", least->label(), most->label()),
               "the smallest size is larger than the largest", "exchange them");
}

// Which GPUs the ranks have, only the started job tells.
Result<void> check_usual(const Request& request) {
  constexpr auto refused = "--expect-busbw usual";
  if (request.collective != bench::Collective::all_reduce ||
      !std::ranges::all_of(request.backends, is_on_gpus)) {
    return usage(refused, "usual values are known only for all_reduce between GPUs",
                 "give the expected busbw in GB/s");
  }
  if (request.max_bytes >= bench::smallest_anchored) return {};
  return usage(refused, "usual values are known only for messages of 1 GiB and more",
               "add --minbytes 1G");
}

// A message below one element would be empty.
Result<void> check_elements(const Call& call, const Request& request) {
  const measure::TypeFacts& type = measure::facts_of(request.type);
  if (request.min_bytes == 0 || request.min_bytes >= type.bytes) return {};
  if (request.collective == bench::Collective::barrier) return {};
  const auto least = call.argument(FlagId::min_bytes);
  const auto most = call.argument(FlagId::max_bytes);
  return usage(
      least  ? least->label()
      : most ? most->label()
             : "--minbytes",
      fmt::format("a message of {} would be empty: one {} has {}",
                  counted(request.min_bytes, "byte"), type.name, counted(type.bytes, "byte")),
      fmt::format("give at least {} bytes", type.bytes));
}

// The only name that begins with these letters, its _ left out: all_reduce for allred.
std::optional<std::string> with_beginning(const std::vector<std::string>& names,
                                          std::string_view word) {
  constexpr std::size_t least_letters = 4;
  const auto letters = [](std::string text) {
    std::erase(text, '_');
    return text;
  };
  const std::string start = letters(std::string(word));
  std::optional<std::string> found;
  for (const std::string& name : names) {
    if (start.size() < least_letters || !letters(name).starts_with(start)) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

// The first word behind `bench`: a collective, or else a command of its own that was misspelt.
Result<bench::Collective> collective_named(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& row : bench::collectives()) {
    if (row.name == word) return row.collective;
    names.emplace_back(row.name);
  }
  for (const char* command : {"pairs", "compare", "import", "history"}) names.emplace_back(command);
  auto meant = did_you_mean(word, names);
  if (!meant) meant = with_beginning(names, word);
  return usage(
      "bench " + word, "is neither a collective nor a subcommand of bench",
      meant ? fmt::format("did you mean {}?", *meant) : "choose one of: " + join(names, ", "));
}

}  // namespace

const Backend& backend_of(std::string_view name) {
  return *std::ranges::find(known_backends, name, &Backend::name);
}

bool is_on_gpus(std::string_view backend) {
  return backend_of(backend).is_on_gpus;
}

Result<double> positive(const Argument& argument) {
  const auto value = parse_double(argument.value);
  if (value && *value > 0 && *value < std::numeric_limits<double>::infinity()) return *value;
  return usage(argument.label(), "it must be a number above 0");
}

std::optional<std::string> unused_size(const Call& call, bench::Collective collective) {
  if (collective != bench::Collective::barrier) return std::nullopt;
  for (const FlagId id : {FlagId::min_bytes, FlagId::max_bytes}) {
    const auto given = call.argument(id);
    if (given) return "a barrier does not transfer data, so toprun ignores " + given->label();
  }
  return std::nullopt;
}

Result<BenchRequest> bench_request(const Call& call) {
  BenchRequest request;
  Request& measured = request.measured;
  measured.collective = TRY(collective_named(call.operand()));
  const auto op = [](const Argument& argument) {
    return named(argument, measure::ops(), &measure::OpName::op);
  };
  const auto average = [](const Argument& argument) -> Result<measure::Average> {
    const auto number = TRY(options::parse_number(argument, 0, 3));
    return static_cast<measure::Average>(number);
  };
  const auto orders = [](const Argument& argument) {
    return words_of(argument, measure::order_names);
  };
  const auto fabrics = [](const Argument& argument) {
    return words_of(argument, measure::fabric_names);
  };
  const auto backends = [](const Argument& argument) {
    std::array<std::string_view, known_backends.size()> names;
    std::ranges::transform(known_backends, names.begin(), &Backend::name);
    return words_of(argument, names);
  };
  TRY(OptionReader(call)
          .take(FlagId::min_bytes, measured.min_bytes, options::parse_size)
          .take(FlagId::max_bytes, measured.max_bytes, options::parse_size)
          .take(FlagId::step_bytes, measured.step_bytes, options::parse_size)
          .take(FlagId::step_factor, measured.factor, positive)
          .number(FlagId::iterations, measured.iterations, 1, most_iterations)
          .number(FlagId::warmups, measured.warmups, 0, most_iterations)
          .number(FlagId::check, measured.check, 0, 1)
          .take(FlagId::reduction, measured.op, op)
          .take(FlagId::datatype, measured.type, type_named)
          .number(FlagId::root_rank, measured.root, 0, std::numeric_limits<int>::max())
          .number(FlagId::aggregated, measured.aggregated, 1, most_iterations)
          .take(FlagId::averaged, measured.average, average)
          .number(FlagId::connections, measured.stripes, 1, most_connections)
          .take(FlagId::until_cv, measured.stable_cv, positive)
          .take(FlagId::fabrics, measured.fabrics, fabrics)
          .take(FlagId::backend, measured.backends, backends)
          .take(FlagId::compared_orders, measured.orders, orders)
          .take(FlagId::compared_nodes, measured.nodes, counts)
          .take(FlagId::compared_ranks, measured.ranks, counts)
          .number(FlagId::stall, measured.stall_limit, 1, longest_stall_s)
          .take(FlagId::link_gbps, request.rates.node, positive)
          .take(FlagId::uplink_gbps, request.rates.uplink, positive)
          .done());
  if (!call.has(FlagId::max_bytes)) measured.max_bytes = measured.min_bytes;
  if (!call.has(FlagId::min_bytes)) {
    measured.min_bytes = std::min(measured.min_bytes, measured.max_bytes);
  }
  if (call.has(FlagId::iterations)) measured.least_time = {};
  const auto preset = TRY(call.choice(FlagId::preset));
  if (!preset.empty()) apply_preset(call, measured);
  if (measured.stable_cv) *measured.stable_cv /= 100;
  TRY(check_range(call, measured));
  TRY(check(measured));
  TRY(check_elements(call, measured));
  if (call.has(FlagId::fail_below) && !call.has(FlagId::expect_busbw)) {
    return usage("--fail-below", "it is a fraction of --expect-busbw, which is missing");
  }
  if (call.has(FlagId::expect_busbw)) {
    bench::Expectation& expected = request.expected.emplace();
    TRY(OptionReader(call)
            .take(FlagId::expect_busbw, expected.busbw, expected_busbw)
            .take(FlagId::fail_below, expected.fail_below, positive)
            .done());
    if (!expected.busbw) TRY(check_usual(measured));
  }
  request.format = TRY(call.choice(FlagId::format));
  request.save = call.text(FlagId::save);
  request.plot = call.text(FlagId::plot);
  request.history = call.has(FlagId::history);
  request.bisect = call.has(FlagId::bisect);
  if (request.plot) {
    TRY(picture::check_picture_name(*request.plot));
  }
  return request;
}

}  // namespace toprun::benchmark
