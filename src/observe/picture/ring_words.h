#pragma once

#include <string>
#include <vector>

#include "observe/picture/sketch.h"

namespace toprun::picture {

// The texts in a picture that shows the order of nodes, for all output formats. All texts are short
// and come from clean_text().

// Returns a level's name.
std::string level_words(const Sketch& sketch, std::size_t level);
// Returns the heading: the number of nodes, the order's name (`order`, such as "topology order")
// and the source of the nodes' locations.
std::vector<std::string> heading_of(const Sketch& sketch, const std::string& order);
// Returns a frame's title: "rack rackA · 4 nodes".
std::string title_of(const Sketch& sketch, const Frame& frame);
// Returns a frame's full name if title_of() shortens it, else an empty text.
std::string whole_name_of(const Frame& frame);
// Returns the lines in a unit's box. For one node: its name and ranks. For several nodes: the
// domains' names, the number of nodes, their names and ranks.
std::vector<std::string> lines_of(const Sketch& sketch, const Unit& unit);
// Returns a unit's names and ranks in one line, as a tooltip.
std::string about(const Sketch& sketch, const Unit& unit);
// Returns the notes below the picture. They say what dashes mean, which domains are folded, and
// which data is omitted.
std::vector<std::string> notes_of(const Sketch& sketch);

}  // namespace toprun::picture
