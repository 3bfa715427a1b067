#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::picture {

// An SVG as a PNG, by rsvg-convert: no library that draws text is small enough for each launch to
// carry. Error: the program is not there, or refuses.
Result<std::string> png_of(const std::string& svg, const Environment& environment);

// Writes a picture; the file's suffix says whether as .svg or .png, and a line on stderr that it
// was written. Error (exit_usage): another one.
Result<void> write_picture(const std::string& file, const std::string& svg,
                           const Environment& environment);
// The same check, before there is a picture.
Result<void> check_picture_name(const std::string& file);

}  // namespace toprun::picture
