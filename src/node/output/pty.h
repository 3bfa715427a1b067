#pragma once

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::output {

// A pseudo-terminal (pty(7)) for one stream of a worker. A Pty is not the controlling terminal of
// any process, passes all bytes on unchanged, and does not echo.
struct Pty {
  Fd ours;     // our end, which reads the worker's output; fails with EIO after the last byte
  Fd workers;  // the worker's end, which is a terminal for isatty(3)
};

// `model`: the terminal whose size is copied.
Result<Pty> open_pty(int model);

// Sets the size of `pty` to the size of the terminal `model`.
void copy_window_size(int model, int pty);

}  // namespace toprun::output
