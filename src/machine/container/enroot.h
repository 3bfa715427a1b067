#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// enroot 3.4 and newer (doc/cmd in its sources). The image's command script (its entrypoint) runs
// before our program, as usual with enroot. enroot has no option for the working folder, so the
// program changes to Run::workdir itself. A name without a tag, as in `--container torch`, is a
// container that `enroot create` has made.
const Runtime& enroot();

}  // namespace toprun::container
