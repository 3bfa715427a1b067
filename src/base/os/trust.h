#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun {

// Returns random letters and digits that cannot be guessed, for the names of files and folders.
std::string random_name(std::size_t letters = 8);

// Creates a folder that only this user can enter. As in torchrun, the folder's path is
// `parent`/`name`_ and 8 random characters. The error is an errno value.
std::expected<std::string, int> new_private_folder(const std::string& parent,
                                                   const std::string& name);

// Creates a private folder in TMPDIR, else in /tmp or /dev/shm. Returns the folder's absolute path,
// or an empty text on failure.
std::string new_temporary_folder(const Environment& environment, const std::string& name);

// Opens this file for reading and writing. Creates the file, or empties it if it exists. Fails if
// the file or its folder is a link. If the result is not open, errno contains the reason.
Fd open_without_links(const std::string& path);

// These functions check whether another user could have planted a file. The check is required for
// every file that determines what toprun runs or trusts, if other users might be able to write to
// the file's folder. Files that need the check are configurations, secrets, pulled images, logs and
// reports. Programs that the user names on the command line are not checked.

// Returns the reason not to trust a file or folder with this status: its owner is neither `me` nor
// root, or every user may write to it. Returns "" if the file or folder may be trusted. The group
// may have write access, because projects share files that way. Pure.
std::string distrust(const struct stat& status, uid_t me);

// Like distrust(), for a secret: if the file belongs to `me`, no other user may have access, as ssh
// requires for keys. Pure.
std::string distrust_secret(const struct stat& status, uid_t me);

// Resolves all links in the path, up to the first component that does not exist. Error: a link
// belongs to another user, who could redirect reads or writes.
Result<std::filesystem::path> follow_own_links(const std::filesystem::path& path, uid_t me);

// Checks that no other user can replace `path`, which is below `base`. distrust() must find no
// reason for any component of `path` below `base`. `base` and the folders above it must not let a
// user rename the entries of other users. Missing components are accepted. The error names the
// component and the reason.
Result<void> check_ours(const std::filesystem::path& base, const std::filesystem::path& path,
                        uid_t me);

// Writes to a file that replace_file() in base/os/files.h cannot replace: a pipe, a device, or a
// file in a folder that is not writable. After an error, perhaps only a part of the content is in
// the file. Nothing is written if the file, or a link in its path, belongs to another user.
Result<void> write_through(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
