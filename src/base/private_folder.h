#pragma once

#include <expected>
#include <string>

#include "base/environment.h"
#include "base/fd.h"

namespace toprun {

// A new folder `parent`/`name`_<8 random>, which only this user may look into, as torchrun's are;
// or an errno.
std::expected<std::string, int> new_private_folder(const std::string& parent,
                                                   const std::string& name);

// One in TMPDIR, else in /tmp or /dev/shm, with its whole path; empty: nowhere.
std::string new_temporary_folder(const Environment& environment, const std::string& name);

// Makes or empties this file for reading and writing; neither it nor its folder may be a link. Not
// open: errno says why.
Fd open_without_links(const std::string& path);

}  // namespace toprun
