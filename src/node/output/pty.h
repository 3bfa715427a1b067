#pragma once

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::output {

// A terminal (pty(7)) for one stream of a worker. It is not a controlling terminal of any process,
// changes no byte and echoes none.
struct Pty {
  Fd ours;     // reads the worker's output; fails with EIO at its end
  Fd workers;  // the worker's end, a terminal for isatty(3)
};

// `model`: the terminal whose size is copied.
Result<Pty> open_pty(int model);

// Gives `pty` the size of the terminal `model`.
void copy_window_size(int model, int pty);

}  // namespace toprun::output
