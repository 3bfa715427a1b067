#include "observe/picture/picture_file.h"

#include <fmt/format.h>

#include <chrono>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::picture {
namespace {

constexpr std::chrono::seconds converter_limit{60};

}  // namespace

Result<std::string> png_of(const std::string& svg, const Environment& environment) {
  const auto finished =
      process::run({"rsvg-convert", "--format", "png"}, environment, converter_limit, svg);
  if (!finished) {
    return std::unexpected(Error{"a PNG cannot be made", finished.error().line(),
                                 "install rsvg-convert (Debian: librsvg2-bin), or write an SVG "
                                 "file, with a name that ends in .svg"});
  }
  if (finished->code == 0) return finished->out;
  return std::unexpected(Error{fmt::format("rsvg-convert ended with {}", finished->code),
                               std::string(trim(finished->err)),
                               "write an SVG file, with a name that ends in .svg"});
}

Result<void> check_picture_name(const std::string& file) {
  if (file.ends_with(".svg") || file.ends_with(".png")) return {};
  return usage(file, "a picture's name must end in .svg or .png");
}

Result<std::string> picture_for(const std::string& file, const std::string& svg,
                                const Environment& environment) {
  TRY(check_picture_name(file));
  return file.ends_with(".svg") ? svg : png_of(svg, environment);
}

Result<void> write_picture(const std::string& file, const std::string& svg,
                           const Environment& environment) {
  return write_and_say(file, TRY(picture_for(file, svg, environment)));
}

}  // namespace toprun::picture
