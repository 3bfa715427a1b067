#pragma once

#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

// Looks at an image that is a file or a folder before a runtime is asked: whether it is there, is
// of the kind that its name says, can be read, and, of a SIF file, is for this machine (header of
// sif, github.com/apptainer/sif pkg/sif: launch line of 32 bytes, magic, version, architecture).
// `machine` is uname's; empty: any. What is not a path passes.
Result<void> check_image_file(std::string_view image, std::string_view host,
                              std::string_view machine);

// uname's machine, "x86_64".
std::string this_machine();

}  // namespace toprun::container
