#pragma once

#include <filesystem>
#include <string>

#include "base/os/environment.h"

namespace toprun::doctor {

// Versions in a Python environment; empty if unknown. The versions are read from the environment's
// files, without starting Python.
struct Installed {
  std::string python;  // "3.11"
  std::string torch;   // "2.13.0+cpu"
  std::string nccl;    // "2.27.3", from the wheel beside torch or from the system's library
  std::string path;    // of the program; only in doctor::Facts
};

// Finds the versions as follows:
//   - Python: from pyvenv.cfg (PEP 405; virtualenv's and uv's version_info), else from the name of
//     the program or of the only lib/pythonX.Y beside it.
//   - torch: from the first torch/version.py in PYTHONPATH, the user's site and the environment's
//     site folders, in the order of Python's `site` module.
//   - NCCL: from the wheel's nvidia_nccl_*.dist-info in the same folder as torch. If there is no
//     wheel, and torch is not a build for CPUs only: from the target of the link libnccl.so.2
//     beside Python or in the system.
// Nothing is guessed: with PYTHONHOME, a wrapper script or an editable install the versions stay
// unknown. Files are searched below `root`.
Installed look_at_python(const std::string& python, const Environment& environment,
                         const std::filesystem::path& root = "/");

}  // namespace toprun::doctor
