#include "decide/cost/layout.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/text/text.h"

namespace toprun::cost {
namespace {

constexpr std::array<std::string_view, all_kinds.size()> names = {"tp", "cp",  "ep", "etp",
                                                                  "dp", "edp", "pp"};
constexpr std::array default_order = {Kind::tp, Kind::cp, Kind::ep, Kind::dp, Kind::pp};
// Megatron's order for kinds that are missing in the given order.
constexpr std::array appended_order = {Kind::tp, Kind::pp, Kind::dp, Kind::ep, Kind::cp};

std::unexpected<Error> refuse(std::string_view part, std::string why, std::string fix = {}) {
  return usage(fmt::format("--parallel {}", printable(part)), std::move(why), std::move(fix));
}

std::string meant_or_all(std::string_view word, const std::vector<std::string>& words) {
  const auto meant = did_you_mean(word, words);
  return meant ? fmt::format("did you mean {}?", *meant) : "choose one of: " + join(words, ", ");
}

Result<std::vector<Kind>> parse_rank_order(std::string_view part, std::string_view text) {
  std::vector<Kind> order;
  for (const std::string_view word : split(text, '-')) {
    const auto kind = find_kind(lower(word));
    if (!kind || std::ranges::count(default_order, *kind) == 0) {
      return refuse(part, fmt::format("\"{}\" is not a part of an order", printable(word)),
                    "write the order as in order=tp-cp-ep-dp-pp");
    }
    if (std::ranges::count(order, *kind) > 0) {
      return refuse(part, fmt::format("{} appears twice", name_of(*kind)), "name it once");
    }
    order.push_back(*kind);
  }
  return order;
}

Result<void> parse_part(std::string_view part, Parallel& parallel) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) {
    return refuse(part, "this kind has no size", "write KIND=SIZE, as in tp=8,pp=4");
  }
  const std::string name = lower(trim(part.substr(0, equals)));
  const std::string_view value = trim(part.substr(equals + 1));
  if (name == "order") {
    if (!parallel.order.empty()) return refuse(part, "order is given twice", "give it once");
    parallel.order = TRY(parse_rank_order(part, value));
    return {};
  }
  const auto kind = find_kind(name);
  if (!kind || *kind == Kind::edp) {
    return refuse(part, "unknown kind of parallelism",
                  meant_or_all(name, {"tp", "cp", "ep", "etp", "dp", "pp", "order"}));
  }
  const auto size = parse_int(value);
  if (!size || *size < 1 || *size > std::numeric_limits<int>::max()) {
    return refuse(part, "a size is a whole number from 1 to 2147483647");
  }
  if (!parallel.sizes.emplace(*kind, static_cast<int>(*size)).second) {
    return refuse(part, fmt::format("{} is given twice", name), "give it once");
  }
  return {};
}

// Product of the sizes, at most 2⁶².
std::int64_t product(const Layout& layout, std::initializer_list<Kind> kinds) {
  std::int64_t result = 1;
  for (const Kind kind : kinds) {
    if (result > std::numeric_limits<int>::max()) return result;
    result *= layout.size(kind);
  }
  return result;
}

// Without the sizes that were not given and are 1.
std::string factors(const Parallel& parallel, const Layout& layout,
                    std::initializer_list<Kind> kinds) {
  std::string text;
  for (const Kind kind : kinds) {
    if (!parallel.sizes.contains(kind) && layout.size(kind) == 1) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name_of(kind), layout.size(kind));
  }
  return text;
}

int& size_of(Layout& layout, Kind kind) {
  return layout.sizes[static_cast<std::size_t>(kind)];
}

Result<void> set_data_size(Layout& layout, const Parallel& parallel) {
  const std::int64_t model = product(layout, {Kind::tp, Kind::cp, Kind::pp});
  const auto given = parallel.sizes.find(Kind::dp);
  if (given == parallel.sizes.end() && layout.world % model != 0) {
    return refuse(
        factors(parallel, layout, {Kind::tp, Kind::cp, Kind::pp}),
        fmt::format("the product of these sizes, {}, does not divide the job's number of ranks, {}",
                    model, layout.world),
        "change a size, --nproc-per-node or the number of nodes");
  }
  if (given == parallel.sizes.end()) {
    size_of(layout, Kind::dp) = static_cast<int>(layout.world / model);
    return {};
  }
  const auto all = {Kind::tp, Kind::cp, Kind::dp, Kind::pp};
  size_of(layout, Kind::dp) = given->second;
  if (product(layout, all) == layout.world) return {};
  return refuse(factors(parallel, layout, all),
                fmt::format("the sizes make {} ranks, and the number of the job's ranks is {}",
                            product(layout, all), layout.world),
                layout.world % model == 0
                    ? fmt::format("dp={} fits", layout.world / model)
                    : "change a size, --nproc-per-node or the number of nodes");
}

Result<void> set_expert_size(Layout& layout, const Parallel& parallel) {
  const auto kinds = {Kind::etp, Kind::ep, Kind::pp};
  const std::int64_t experts = product(layout, kinds);
  if (layout.world % experts != 0) {
    return refuse(
        factors(parallel, layout, kinds),
        fmt::format("the product of these sizes, {}, does not divide the job's number of ranks, {}",
                    experts, layout.world),
        "change ep or etp");
  }
  size_of(layout, Kind::edp) = static_cast<int>(layout.world / experts);
  return {};
}

// The kind at this part of the order in the grid of expert layers. cp is 1 there, ep is 1 in the
// other grid.
std::optional<Kind> in_grid(Kind kind, bool experts) {
  if (!experts) return kind == Kind::ep ? std::nullopt : std::optional(kind);
  switch (kind) {
    case Kind::tp:
      return Kind::etp;
    case Kind::dp:
      return Kind::edp;
    case Kind::cp:
      return std::nullopt;
    default:
      return kind;
  }
}

struct Dimension {
  Kind kind;
  int size;
  int stride;
};

std::vector<Dimension> grid(const Layout& layout, bool experts) {
  std::vector<Dimension> dimensions;
  int stride = 1;
  for (const Kind part : layout.order) {
    const auto kind = in_grid(part, experts);
    if (!kind) continue;
    dimensions.push_back({*kind, layout.size(*kind), stride});
    stride *= layout.size(*kind);
  }
  return dimensions;
}

int stride_of_stages(const Layout& layout, bool experts) {
  const std::vector<Dimension> dimensions = grid(layout, experts);
  return std::ranges::find(dimensions, Kind::pp, &Dimension::kind)->stride;
}

Result<void> set_order(Layout& layout, const Parallel& parallel) {
  layout.order = parallel.order;
  if (layout.order.empty()) layout.order.assign(default_order.begin(), default_order.end());
  const bool stages_last = layout.order.back() == Kind::pp;
  for (const Kind kind : appended_order) {
    if (std::ranges::count(layout.order, kind) > 0) continue;
    for (const bool experts : {false, true}) {
      const auto missing = in_grid(kind, experts);
      if (!missing || layout.size(*missing) == 1) continue;
      return refuse("order",
                    fmt::format("{} is missing in the order, although its size is {}",
                                name_of(kind), layout.size(*missing)),
                    "list every kind with a size above 1");
    }
    layout.order.push_back(kind);
  }
  if (layout.size(Kind::pp) == 1) return {};
  const bool data_agrees = layout.size(Kind::edp) == layout.size(Kind::dp);
  if ((stages_last || data_agrees) &&
      stride_of_stages(layout, false) == stride_of_stages(layout, true)) {
    return {};
  }
  return refuse(
      "order",
      "in this order the experts' layers would get a different pipeline from the other layers",
      "put pp last in the order");
}

// The numbers of a grid's cells in ascending order, the first dimension fastest.
std::vector<int> cells(const std::vector<Dimension>& dimensions) {
  std::vector<int> ranks = {0};
  for (const auto& [kind, size, stride] : dimensions) {
    const std::size_t inner = ranks.size();
    for (int i = 1; i < size; ++i) {
      for (std::size_t k = 0; k < inner; ++k) ranks.push_back(ranks[k] + i * stride);
    }
  }
  return ranks;
}

}  // namespace

std::string_view name_of(Kind kind) {
  return names[static_cast<std::size_t>(kind)];
}

std::optional<Kind> find_kind(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return all_kinds[static_cast<std::size_t>(found - names.begin())];
}

Result<Parallel> parse_parallel(std::string_view text) {
  if (text.size() > max_parallel_text) {
    return refuse(text.substr(0, 16),
                  fmt::format("the text has {} bytes; at most {} bytes are read", text.size(),
                              max_parallel_text));
  }
  Parallel parallel;
  for (const std::string_view part : split(text, ',')) {
    TRY(parse_part(trim(part), parallel));
  }
  return parallel;
}

Result<Layout> layout_of(const Parallel& parallel, int world) {
  Layout layout;
  layout.world = world;
  layout.sizes.fill(1);
  for (const auto& [kind, size] : parallel.sizes) size_of(layout, kind) = size;
  if (!parallel.sizes.contains(Kind::etp)) size_of(layout, Kind::etp) = layout.size(Kind::tp);
  TRY(set_data_size(layout, parallel));
  TRY(set_expert_size(layout, parallel));
  TRY(set_order(layout, parallel));
  return layout;
}

Groups groups_of(const Layout& layout, Kind kind) {
  const bool experts = kind == Kind::ep || kind == Kind::etp || kind == Kind::edp;
  std::vector<Dimension> inside;
  std::vector<Dimension> outside;
  for (const Dimension& dimension : grid(layout, experts)) {
    const bool member = dimension.kind == kind || (kind == Kind::dp && dimension.kind == Kind::cp);
    (member ? inside : outside).push_back(dimension);
  }
  return {cells(outside), cells(inside)};
}

std::vector<Kind> kinds_of(const Layout& layout) {
  const bool own_tensor =
      groups_of(layout, Kind::etp).offsets != groups_of(layout, Kind::tp).offsets;
  const bool experts = layout.size(Kind::ep) > 1 || own_tensor;
  std::vector<Kind> kinds;
  for (const Kind kind : all_kinds) {
    if (kind == Kind::etp && !own_tensor) continue;
    if ((kind == Kind::ep || kind == Kind::edp) && !experts) continue;
    if (groups_of(layout, kind).offsets.size() > 1) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace toprun::cost
