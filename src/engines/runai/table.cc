#include "engines/runai/table.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace toprun::engines::runai {

std::optional<Column> column(std::string_view header, std::string_view name) {
  const std::size_t begin = header.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  std::size_t end = header.find("  ", begin);
  if (end == std::string_view::npos) return Column{begin, end};
  return Column{begin, header.find_first_not_of(' ', end)};
}

std::string cell(std::string_view line, const std::optional<Column>& column) {
  if (!column || column->begin >= line.size()) return {};
  const std::size_t length =
      column->end == std::string_view::npos ? std::string_view::npos : column->end - column->begin;
  return std::string(trim(line.substr(column->begin, length)));
}

std::unexpected<Error> not_understood(std::string_view text, std::string_view requested,
                                      std::string fix) {
  constexpr std::size_t most_shown = 80;
  return fail(
      "cannot ask Run:AI",
      fmt::format("runai did not print {}: {}", requested, printable(text.substr(0, most_shown))),
      std::move(fix));
}

}  // namespace toprun::engines::runai
