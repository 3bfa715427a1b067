#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::chart {

// A user's text between tags or in an attribute: on one line, escaped, and U+FFFD in place of what
// may not stand in XML or would turn the direction of what follows.
std::string xml_text(std::string_view text);

// At most so many characters, 3 or more, with "…" in place of the middle: the end of a name tells
// nodes apart.
std::string shortened(std::string_view text, std::size_t most_characters);

// How wide a text is drawn: enough for common sans-serif fonts, in pixels.
double width_px(std::string_view text, double font_px);

// In coordinates a tenth of a pixel is more than a screen shows: "12", "12.5".
std::string coordinate(double value);

}  // namespace toprun::chart
