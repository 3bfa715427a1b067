#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "node/prepare/prefetch/prefetch_record.h"

namespace toprun::prefetch {

// The records of this user's environments: $XDG_CACHE_HOME/toprun/prefetch/KEY.files, else below
// ~/.cache. Only files owned by this user or root are trusted. All functions here may block.

// nullopt: no variable of the environment names a home directory.
std::optional<std::filesystem::path> folder_of(const Environment& environment);

// nullopt: there is no usable record. A record is ignored if it is malformed, or older than the
// last change of the package folders. Error: a file or folder at this path belongs to another user.
Result<std::optional<Record>> find_kept(const std::filesystem::path& folder,
                                        const std::string& key);

// Replaces the record atomically, in a folder that only this user may enter. If there are more than
// `most_kept` records, the oldest records are deleted.
Result<void> keep(const std::filesystem::path& folder, const std::string& key,
                  std::string_view text);
inline constexpr std::size_t most_kept = 64;

}  // namespace toprun::prefetch
