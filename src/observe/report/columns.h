#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace toprun::report {

// Lines of cells in columns that are as wide as their widest cell, separated by two blanks. The
// columns listed in `right` are right-aligned.
std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right);

// The rows without the columns in which only the first row, the heading, has text.
std::vector<std::vector<std::string>> without_empty_columns(
    std::vector<std::vector<std::string>> rows);

}  // namespace toprun::report
