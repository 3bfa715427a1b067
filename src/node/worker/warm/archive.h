#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace toprun::warm {

// A ZIP archive with one uncompressed file, from which Python can import if the archive is in
// sys.path (zipimport). Format: PKWARE's APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12
// (directory), 4.3.16 (end).
std::vector<std::uint8_t> archive_of(std::string_view name, std::string_view content);

}  // namespace toprun::warm
