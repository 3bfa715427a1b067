#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// enroot 3.4 and newer (doc/cmd of its sources). The command script of the image (its entrypoint)
// runs before our program, as enroot means it. It has no option for the folder to begin in: the
// program goes to Run::workdir by itself. A name without a tag, as `--container torch`, is a
// container that `enroot create` has made.
const Runtime& enroot();

}  // namespace toprun::container
