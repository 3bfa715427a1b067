#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::engines::runai {

// A table that runai v1 prints with Go's text/tabwriter. A column begins at a name in the header
// that comes after two blanks.
struct Column {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Column> column(std::string_view header, std::string_view name);

// "" if the column is missing.
std::string cell(std::string_view line, const std::optional<Column>& column);

// The error for output without `requested` ("a table"); it quotes the beginning of the output.
std::unexpected<Error> not_understood(std::string_view text, std::string_view requested,
                                      std::string fix);

}  // namespace toprun::engines::runai
