#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// Apptainer 1.0 and newer, and SingularityCE. Their command lines and variables differ only in the
// first part of the names (apptainer exec --help in 1.4; internal/pkg/util/env). Works with and
// without a setuid installation.
//
// With --cleanenv, the program gets the image's environment and toprun's variables. These are
// passed as APPTAINERENV_NAME, which allows any value; --env would break values with commas. As for
// all runtimes, inside() decides which of the host's variables the ranks get.
const Runtime& apptainer();
const Runtime& singularity();

// docker-run(1) of version 20.10 and newer. It uses a daemon that runs as root, so --container-root
// is real root on the host. The limits are those of the daemon, not the user's.
const Runtime& docker();

// enroot 3.4 and newer (doc/cmd in its sources). The image's command script (its entrypoint) runs
// before our program, as usual with enroot. enroot has no option for the working folder, so the
// program changes to Run::workdir itself. A name without a tag, as in `--container torch`, is a
// container that `enroot create` has made.
const Runtime& enroot();

// podman-run(1), version 4.3 and newer, rootless or as root. A site's settings for images,
// networks, cgroups and storage stay in Podman's own files: containers.conf(5), storage.conf(5),
// registries.conf(5), and the variables that name other files.
const Runtime& podman();

// NVIDIA's plugin for Slurm (args.c in pyxis 0.20 and newer): srun itself starts the program in the
// container, through enroot. So there is no command(); the srun for the agents gets step_options().
const Runtime& pyxis();

}  // namespace toprun::container
