#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"
#include "machine/container/image.h"

namespace toprun::container {

// Returns the folder for pulled images and kept containers: $TOPRUN_CONTAINERS, if it is set.
// Otherwise the folder is below the first of these that is set: $SCRATCH (because homes have
// quotas), $XDG_DATA_HOME, ~/.local/share. If no variable is set, not even HOME, the folder is
// below /var/tmp.
SourcedPath containers_path(const Environment& environment);

// Returns the folder for caches of pulls and builds, which is below $SCRATCH; nullopt if $SCRATCH
// is not set.
std::optional<SourcedPath> caches_path(const Environment& environment);

// Checks that no other user can have put files at this path. A shared $SCRATCH and /var/tmp are
// open to all users. The error names the path and its owner.
Result<void> check_path(const SourcedPath& sourced, const Environment& environment);

// Adds APPTAINER_CACHEDIR and APPTAINER_TMPDIR (or SINGULARITY_…) for a pull or build, unless the
// user has set them. The cache is below $SCRATCH, and temporary files are in $TMPDIR. Without
// $SCRATCH and $TMPDIR, the program uses its defaults: ~/.apptainer/cache and /tmp.
Environment with_build_folders(Environment environment, std::string_view prefix);

// Like with_build_folders(), for enroot: ENROOT_CACHE_PATH and ENROOT_TEMP_PATH.
Environment with_enroot_folders(Environment environment);

// Returns the name of a file or folder for an image from a registry:
// "nvcr.io+nvidia+pytorch+24.06-py3".
std::string file_name(const Image& image);

}  // namespace toprun::container
