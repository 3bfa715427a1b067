#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/error.h"

namespace toprun {

// Whether what lies somewhere can be another user's doing. Whatever decides what is run or believed
// and lies where others could have put it is asked about here first: configurations, secrets,
// images that were pulled, logs and reports. What the user names on the command line to be run is
// the user's own choice.

// Why nobody should believe a file or folder with this status: it belongs neither to `me` nor to
// root, or everybody may write to it. Empty: no reason. (A group may write to it: that is what a
// project's group is for.) Pure.
std::string distrust(const struct stat& status, uid_t me);

// The same of a secret: one of `me` has to be closed to everybody else, as ssh asks of a key. Pure.
std::string distrust_secret(const struct stat& status, uid_t me);

// The path with every link on it followed. What is not there ends the search. Error: a link belongs
// to somebody else, who would choose what is read or written.
Result<std::filesystem::path> follow_own_links(const std::filesystem::path& path, uid_t me);

// Whether nobody else can replace `path`, which lies below `base`: all from below `base` on is not
// to be distrusted, and what stands in `base` and above can be renamed by its owner only. What is
// not there passes. Error: what it is, and why.
Result<void> check_ours(const std::filesystem::path& base, const std::filesystem::path& path,
                        uid_t me);

// Writes to what replace_file() of base/files.h cannot replace: a pipe, a device, a file in a
// folder in which none can be made. Error: it was not written to its end; nothing was, where a link
// on the way or the file belongs to somebody else.
Result<void> write_through(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
