#pragma once

#include <string>

#include "observe/picture/sketch.h"

namespace toprun::picture {

// The same picture in the language of Graphviz' dot (graphviz.org/doc/info/lang.html): a cluster
// per domain, the ring as coloured edges, with the colours of ring_svg.h. `order` as in
// ring_layout().
std::string ring_dot(const Sketch& sketch, const std::string& order);

}  // namespace toprun::picture
