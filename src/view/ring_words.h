#pragma once

#include <string>
#include <vector>

#include "view/sketch.h"

namespace toprun::view {

// The words in a picture of an order, whatever draws it. All are clean (markup.h) and short.

// A level's name.
std::string level_words(const view::Sketch& sketch, std::size_t level);
// How many nodes in which order (`order`: as "topology order"), and who says where they are.
std::vector<std::string> heading_of(const view::Sketch& sketch, const std::string& order);
// "rack rackA · 4 nodes".
std::string title_of(const view::Sketch& sketch, const view::Frame& frame);
// A frame's name where title_of() shortens it, else empty.
std::string whole_name_of(const view::Frame& frame);
// A node's name and ranks; of several nodes the domains' names, how many, which.
std::vector<std::string> lines_of(const view::Sketch& sketch, const view::Unit& unit);
// The same in one line with more room.
std::string about(const view::Sketch& sketch, const view::Unit& unit);
// What a reader has to know: what dashes mean, what is folded, what is left out.
std::vector<std::string> notes_of(const view::Sketch& sketch);

}  // namespace toprun::view
