#pragma once

#include "container/runtime.h"

namespace toprun::container {

// Apptainer 1.0 and newer, and SingularityCE, whose command line and variables are the same but for
// the names' beginning (apptainer exec --help of 1.4; internal/pkg/util/env). With or without
// setuid installation.
//
// --cleanenv: what the program then finds is the image's own environment, and ours by
// APPTAINERENV_NAME, which takes any value; --env would break values with commas. What of the
// host's environment the ranks get is decided by inside(), as for all runtimes.
const Runtime& apptainer();
const Runtime& singularity();

}  // namespace toprun::container
