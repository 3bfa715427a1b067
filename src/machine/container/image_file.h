#pragma once

#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

// Checks an image that is a file or folder before a runtime uses it. It has to exist, to be
// readable, and to be of the kind that its name says. A SIF file also has to be for this machine
// (SIF header, github.com/apptainer/sif pkg/sif: launch line of 32 bytes, magic, version,
// architecture). `machine` is uname's; empty: any machine. Images that are not paths are accepted.
Result<void> check_image_file(std::string_view image, std::string_view host,
                              std::string_view machine);

// The machine name from uname(2), "x86_64".
std::string this_machine();

}  // namespace toprun::container
