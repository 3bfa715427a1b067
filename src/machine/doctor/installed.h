#pragma once

#include <filesystem>
#include <string>

#include "base/os/environment.h"

namespace toprun::doctor {

// Versions in a Python environment, found in its files without starting it; empty if unknown.
struct Installed {
  std::string python;  // "3.11"
  std::string torch;   // "2.13.0+cpu"
  std::string nccl;    // "2.27.3", of the wheel beside torch or of the system's library
};

// Version: pyvenv.cfg (PEP 405; virtualenv's and uv's version_info), else the name of the program
// or of the only lib/pythonX.Y beside it. torch: torch/version.py in the first of PYTHONPATH, the
// user's site and the environment's site folders that has it, in the order of Python's `site`
// module. NCCL: the wheel's nvidia_nccl_*.dist-info in the same folder; without it, for a torch
// that is not for CPUs alone, the target of the link libnccl.so.2 beside Python or in the system.
// Nothing is guessed: PYTHONHOME, a wrapper script or an editable install leave it unknown. Files
// are looked for below `root`.
Installed look_at_python(const std::string& python, const Environment& environment,
                         const std::filesystem::path& root = "/");

}  // namespace toprun::doctor
