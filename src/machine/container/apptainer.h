#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// Apptainer 1.0 and newer, and SingularityCE, whose command line and variables are the same but for
// the names' beginning (apptainer exec --help of 1.4; internal/pkg/util/env). With or without
// setuid installation.
//
// --cleanenv: the program gets the image's environment plus our variables as APPTAINERENV_NAME,
// which allows any value; --env would break values with commas. As for all runtimes, inside()
// decides which variables of the host the ranks get.
const Runtime& apptainer();
const Runtime& singularity();

}  // namespace toprun::container
