#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "container/container.h"
#include "container/image.h"

namespace toprun::container {

// Where images that were pulled and containers that are kept lie: $TOPRUN_CONTAINERS; below
// $SCRATCH, because homes have quotas; else below $XDG_DATA_HOME or ~/.local/share. Without any of
// them below /var/tmp.
Place containers_place(const Environment& environment);

// With APPTAINER_CACHEDIR and APPTAINER_TMPDIR (or SINGULARITY_…) for a pull or build, where the
// user has not set them: below $SCRATCH and in $TMPDIR. Without these the program's own choice
// stays: ~/.apptainer/cache and /tmp.
Environment with_build_folders(Environment environment, std::string_view prefix);

// The same for enroot: ENROOT_CACHE_PATH and ENROOT_TEMP_PATH.
Environment with_enroot_folders(Environment environment);

// A file's or folder's name for an image of a registry: "nvcr.io+nvidia+pytorch+24.06-py3".
std::string file_name(const Image& image);

}  // namespace toprun::container
