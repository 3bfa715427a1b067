#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "machine/container/runtime.h"

namespace toprun::container {

// Return the runtimes Apptainer (1.0 and newer) and SingularityCE. Their command lines and
// variables differ only in the first part of the names: "apptainer" or "singularity" (apptainer
// exec --help in 1.4; internal/pkg/util/env). Both programs work with and without a setuid
// installation.
//
// With --cleanenv, the program gets the image's environment and toprun's variables. toprun's
// variables are passed as APPTAINERENV_NAME, which allows any value; --env would split values at
// commas. As for all runtimes, inside() decides which of the host's variables the ranks get.
const Runtime& apptainer();
const Runtime& singularity();

// Returns the runtime Docker: docker-run(1), version 20.10 and newer. Docker uses a daemon that
// runs as root, so with --container-root the ranks are really root on the host. The ranks have the
// daemon's resource limits, not the user's.
const Runtime& docker();

// Returns the runtime enroot, 3.4 and newer (doc/cmd in its sources). As usual with enroot, the
// image's command script (its entrypoint) runs first and then starts our program. Because enroot
// has no option for the working folder, the program changes to Run::workdir itself. An image name
// without a tag, as in `--container torch`, means a container that `enroot create` has made.
const Runtime& enroot();

// Returns the runtime Podman: podman-run(1), version 4.3 and newer, rootless or as root. A site's
// settings for images, networks, cgroups and storage stay unchanged. Podman reads these settings
// from its own files: containers.conf(5), storage.conf(5), registries.conf(5), and files that
// variables name.
const Runtime& podman();

// Returns the runtime pyxis, NVIDIA's plugin for Slurm (args.c in pyxis 0.20 and newer): srun
// itself starts the program in the container, through enroot. So pyxis has no command(); the srun
// that starts the agents gets step_options().
const Runtime& pyxis();

// Returns the runtime named by --container-runtime. For "auto", this is the first runtime in
// runtimes() that accepts this image and exists on this node. The runtime pyxis exists if the
// engine has this plugin. Every other runtime exists if its program is in a folder of PATH. Errors:
// an unknown name; a runtime that does not accept the image (exit_usage); no runtime on this node.
// If there is no runtime, the error lists every folder that was searched, and what to install or
// load.
Result<const Runtime*> choose(const Request& request, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis);

// Returns the runtime with exactly this name; nullptr: there is no such runtime.
const Runtime* find_runtime(std::string_view name);

std::vector<std::string> runtime_names();

}  // namespace toprun::container
