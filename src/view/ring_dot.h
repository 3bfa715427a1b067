#pragma once

#include <string>

#include "view/sketch.h"

namespace toprun::view {

// The same picture for Graphviz' dot (graphviz.org/doc/info/lang.html): a cluster per domain, the
// ring as coloured edges, all in the colours of ring_svg.h. `order` as in ring_layout().
std::string ring_dot(const view::Sketch& sketch, const std::string& order);

}  // namespace toprun::view
