#include "bench/tables/kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "bench/tables/nccl_text.h"

namespace toprun::bench {
namespace {

constexpr auto type_column = "  {:<8}";
constexpr auto redop_column = "  {:<5}";
constexpr auto root_column = "  {:>4}";

std::string columns(const Kinds& kinds, std::string_view type, std::string_view redop,
                    std::string_view root) {
  std::string out;
  if (kinds.type) out += fmt::format(type_column, type);
  if (kinds.redop) out += fmt::format(redop_column, redop);
  if (kinds.root) out += fmt::format(root_column, root);
  return out;
}

std::string name_or_dash(const std::string& name) {
  return name.empty() ? std::string(no_name) : printable(name);
}

bool may_agree(const std::string& a, const std::string& b) {
  return a == b || a.empty() || b.empty();
}

}  // namespace

Kinds kinds_in(std::span<const Series> all) {
  Kinds kinds;
  const Row* first = nullptr;
  for (const Series& series : all) {
    for (const Row& row : series.rows) {
      if (first == nullptr) first = &row;
      kinds.type = kinds.type || row.type != first->type;
      kinds.redop = kinds.redop || row.redop != first->redop;
      kinds.root = kinds.root || row.root != first->root;
    }
  }
  return kinds;
}

bool is_same_kind(const Row& a, const Row& b) {
  return a.type == b.type && a.redop == b.redop && a.root == b.root;
}

bool may_be_same_kind(Collective collective, const Row& a, const Row& b) {
  const bool is_root_unknown = facts_of(collective).has_root && (a.root == -1 || b.root == -1);
  return may_agree(a.type, b.type) && may_agree(a.redop, b.redop) &&
         (a.root == b.root || is_root_unknown);
}

std::string kind_text(const Row& row, const Kinds& kinds) {
  std::string out;
  if (kinds.type) out += name_or_dash(row.type);
  if (kinds.redop) out += (out.empty() ? "" : " ") + name_or_dash(row.redop);
  if (kinds.root) out += fmt::format("{}root {}", out.empty() ? "" : ", ", row.root);
  return out;
}

std::string kind_heading(const Kinds& kinds) {
  return columns(kinds, "type", "redop", "root");
}

std::string kind_columns(const Row& row, const Kinds& kinds) {
  return columns(kinds, name_or_dash(row.type), name_or_dash(row.redop),
                 fmt::format("{}", row.root));
}

std::string kind_blanks(const Kinds& kinds) {
  return columns(kinds, "", "", "");
}

std::vector<Series> by_kind(const Series& series, const Kinds& kinds) {
  std::vector<Series> out;
  for (const Row& row : series.rows) {
    const std::string kind = kind_text(row, kinds);
    const std::string source =
        series.source.empty() || kind.empty() ? series.source + kind : series.source + " " + kind;
    auto found = std::ranges::find(out, source, &Series::source);
    if (found == out.end()) {
      Series part = series;
      part.rows.clear();
      part.source = source;
      out.push_back(std::move(part));
      found = std::prev(out.end());
    }
    found->rows.push_back(row);
  }
  return out;
}

}  // namespace toprun::bench
