#pragma once

#include <string>

#include "observe/picture/sketch.h"

namespace toprun::picture {

// Returns the picture of ring_svg() in Graphviz' dot language (graphviz.org/doc/info/lang.html).
// Each domain is a cluster. The ring consists of edges in the colours of ring_svg.h. `order`: as in
// ring_layout().
std::string ring_dot(const Sketch& sketch, const std::string& order);

}  // namespace toprun::picture
