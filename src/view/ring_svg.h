#pragma once

#include <string>

#include "view/ring_layout.h"

namespace toprun::view {

// The picture as an SVG document (W3C SVG 1.1) that needs nothing else: no script, no style sheet,
// no identifiers that could meet others in a page, its own background. Any name may stand in the
// layout's texts.
std::string ring_svg(const RingLayout& layout);

// The colour of lines that leave a domain of a level, outermost 0, as #rrggbb: Okabe and Ito's,
// which colour-blind people can tell apart ("Color Universal Design", 2008). They repeat after a
// few levels.
const char* level_colour(std::size_t level);
// A box's stripe: Paul Tol's bright and vibrant schemes ("Colour schemes", 2021), which repeat too.
const char* team_colour(std::size_t team);
// How lines of that level are dashed, which tells repeated colours apart; empty: not.
const char* level_dashes(std::size_t level);
// Of lines that stay inside.
inline constexpr const char* inside_colour = "#5c6773";

}  // namespace toprun::view
