#pragma once

#include <string_view>

namespace toprun {

// Writes all of it, however long that takes, also to a descriptor that another process has made
// non-blocking. False: that failed, and errno says why.
bool write_all(int fd, std::string_view text);

}  // namespace toprun
