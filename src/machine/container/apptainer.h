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

}  // namespace toprun::container
