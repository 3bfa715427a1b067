#pragma once

#include "decide/topology/tree.h"

namespace toprun::topology {

// Combines two maps with different kinds of levels into one tree. Level A goes inside level B of
// the other map if each domain of A lies inside one domain of B. So the hosts decide whether NVLink
// domains are inside leaves, or leaves are inside NVLink domains. Two levels that divide the hosts
// in the same way become one level with the name from `first`. But regions, zones and NVLink
// domains stay separate levels, because their names carry additional information.
//
// A host whose domain at a level is unknown is ignored in this comparison, and its domain stays
// unknown. If the hosts in both maps do not show which of two levels is the outer one, the levels'
// names decide. Outermost first, the order is region, zone, other names, nvlink. If the names do
// not decide, the level of `first` is the outer one.
//
// A host must have the same name in both maps (see match.h). Errors: neither of two levels is
// inside the other; there are more than max_levels. Both messages name the two sources. For the
// first error, the message also names, for each of the two levels, a domain that spans several
// domains of the other level, and hosts in this domain.
Result<Map> nest(Map first, Map second);

}  // namespace toprun::topology
