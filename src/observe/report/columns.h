#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace toprun::report {

// Lines of cells in columns as wide as their widest cell, two blanks between. The columns named in
// `right` are aligned there.
std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right);

}  // namespace toprun::report
