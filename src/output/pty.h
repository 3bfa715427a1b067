#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace toprun::output {

// A terminal for one stream of a worker (pty(7)), which is nobody's controlling terminal. It
// changes no byte and echoes none.
struct Pty {
  Fd ours;     // what was written comes out here; fails with EIO at its end
  Fd workers;  // a terminal for isatty(3)
};

// `model`: the terminal whose size it has.
Result<Pty> open_pty(int model);

// Gives `pty` the size of the terminal `model`.
void copy_window_size(int model, int pty);

}  // namespace toprun::output
