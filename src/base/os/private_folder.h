#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "base/os/environment.h"
#include "base/os/fd.h"

namespace toprun {

// Random letters and digits that cannot be guessed, for the names of files and folders.
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

}  // namespace toprun
