#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// podman-run(1), version 4.3 and newer, rootless or as root. A site's settings for images,
// networks, cgroups and storage stay in Podman's own files: containers.conf(5), storage.conf(5),
// registries.conf(5), and the variables that name other files.
const Runtime& podman();

}  // namespace toprun::container
