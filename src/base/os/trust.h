#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/text/error.h"

namespace toprun {

// Checks whether another user could have planted a file. Every file that decides what is run or
// believed, and that lies where others might write, is checked here first: configurations, secrets,
// pulled images, logs and reports. Programs that the user names on the command line are not
// checked.

// Why a file or folder with this status must not be trusted: it belongs neither to `me` nor to
// root, or every user may write to it. Empty if it may be trusted. (Its group may write to it:
// projects share files that way.) Pure.
std::string distrust(const struct stat& status, uid_t me);

// The same for a secret: a secret of `me` must be closed to all other users, as ssh requires of
// keys. Pure.
std::string distrust_secret(const struct stat& status, uid_t me);

// The path with all its links resolved, up to the first part that does not exist. Error: a link
// belongs to another user, who could redirect what is read or written.
Result<std::filesystem::path> follow_own_links(const std::filesystem::path& path, uid_t me);

// Checks that no other user can replace `path`, which lies below `base`: all parts below `base` are
// trusted, and only their owners can rename the entries of `base` and above. Missing parts pass.
// Error: the part, and why.
Result<void> check_ours(const std::filesystem::path& base, const std::filesystem::path& path,
                        uid_t me);

// Writes to a file that replace_file() of base/os/files.h cannot replace: a pipe, a device, or a
// file in a folder that is not writable. Error: it was written in part; or not at all, if a link on
// the way or the file belongs to another user.
Result<void> write_through(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
