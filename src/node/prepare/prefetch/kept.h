#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "node/prepare/prefetch/record.h"

namespace toprun::prefetch {

// The records of this user's environments: $XDG_CACHE_HOME/toprun/prefetch/KEY.files, else below
// ~/.cache. Only files of this user or root are believed. All of this may block.

// nullopt: no such variable names a home.
std::optional<std::filesystem::path> folder_of(const Environment& environment);

// nullopt: there is none that can be used; one that is malformed, or older than the last change of
// the folders of packages, counts as none. Error: another
// user's file or folder is in its place.
Result<std::optional<Record>> find_kept(const std::filesystem::path& folder,
                                        const std::string& key);

// Replaces the record in one step, in a folder that only this user may enter. Of more than
// `most_kept` the oldest go.
Result<void> keep(const std::filesystem::path& folder, const std::string& key,
                  std::string_view text);
inline constexpr std::size_t most_kept = 64;

}  // namespace toprun::prefetch
