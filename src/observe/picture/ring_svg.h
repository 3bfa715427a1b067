#pragma once

#include <string>

#include "observe/picture/ring_layout.h"
#include "observe/picture/sketch.h"

namespace toprun::picture {

// Returns the picture as a self-contained SVG document (W3C SVG 1.1). The document has its own
// background, no script and no style sheet, and no identifiers that could conflict with other
// identifiers in a page. ring_svg() escapes the layout's texts.
std::string ring_svg(const RingLayout& layout);

// Returns the colour of lines that leave a domain of a level (0: outermost), as #rrggbb. The
// colours are from Okabe and Ito ("Color Universal Design", 2008); colour-blind people can
// distinguish them. The colours repeat after a few levels.
const char* level_colour(std::size_t level);
// Returns the colour of the stripe that marks a team. The colours are from Paul Tol's bright and
// vibrant schemes ("Colour schemes", 2021). For many teams, they repeat.
const char* team_colour(std::size_t team);
// Returns the dash pattern of lines that leave a domain of this level. The pattern distinguishes
// levels that have the same colour. Empty: the line is solid.
const char* level_dashes(std::size_t level);
// The colour of lines that leave no domain.
inline constexpr const char* inside_colour = "#5c6773";

// Returns the picture of ring_svg() in Graphviz' dot language (graphviz.org/doc/info/lang.html).
// Each domain is a cluster. The ring consists of edges in the same colours. `order`: as in
// ring_layout().
std::string ring_dot(const Sketch& sketch, const std::string& order);

}  // namespace toprun::picture
