#pragma once

#include <string_view>

namespace toprun {

// Writes the whole `text` and blocks until that is done, even if another process has made the
// descriptor non-blocking. False on failure, with the reason in errno.
bool write_all(int fd, std::string_view text);

}  // namespace toprun
