#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::picture {

// Converts an SVG to a PNG with the program rsvg-convert, because libraries that draw text are too
// large for toprun. Error: the program is missing, or fails.
Result<std::string> png_of(const std::string& svg, const Environment& environment);

// Returns the content of a file with this name. The suffix, .svg or .png, determines the format.
// Error (exit_usage): another suffix.
Result<std::string> picture_for(const std::string& file, const std::string& svg,
                                const Environment& environment);

// Writes a picture and reports the file on stderr. Errors: those of picture_for().
Result<void> write_picture(const std::string& file, const std::string& svg,
                           const Environment& environment);
// Checks the suffix like write_picture(), before the picture exists.
Result<void> check_picture_name(const std::string& file);

}  // namespace toprun::picture
