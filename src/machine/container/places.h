#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"
#include "machine/container/image.h"

namespace toprun::container {

// Where images that were pulled and containers that are kept lie: $TOPRUN_CONTAINERS; below
// $SCRATCH, because homes have quotas; else below $XDG_DATA_HOME or ~/.local/share. Without any of
// them below /var/tmp.
Place containers_place(const Environment& environment);

// Where a pull or a build keeps what it may need again: below $SCRATCH, where that is set.
std::optional<Place> caches_place(const Environment& environment);

// Whether no other user can have put there what lies at this place: a shared $SCRATCH and /var/tmp
// are open to all users. Error: what belongs to whom.
Result<void> check_place(const Place& place, const Environment& environment);

// With APPTAINER_CACHEDIR and APPTAINER_TMPDIR (or SINGULARITY_…) for a pull or build, where the
// user has not set them: below $SCRATCH and in $TMPDIR. Without these the program's own choice
// stays: ~/.apptainer/cache and /tmp.
Environment with_build_folders(Environment environment, std::string_view prefix);

// The same for enroot: ENROOT_CACHE_PATH and ENROOT_TEMP_PATH.
Environment with_enroot_folders(Environment environment);

// A file's or folder's name for an image of a registry: "nvcr.io+nvidia+pytorch+24.06-py3".
std::string file_name(const Image& image);

}  // namespace toprun::container
