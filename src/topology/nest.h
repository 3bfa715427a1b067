#pragma once

#include "topology/tree.h"

namespace toprun::topology {

// Two sources' knowledge as one tree where each has kinds of levels of its own. A level goes inside
// a level of the other map if each of its domains lies inside one domain there: NVLink domains
// inside leaves, or leaves inside NVLink domains, as the hosts tell. Two levels that divide the
// hosts in the same way are one, under the name that `first` has for it; but regions, zones and
// NVLink domains stay levels of their own, since they say more than how hosts are divided.
//
// What is not known neither proves nor breaks anything, and levels that a map does not know of a
// host stay unknown. Where the hosts that both know leave open which level is the outer one, names
// tell (region, zone, others, nvlink), else it is `first`'s.
//
// Hosts must carry the same names in both maps (see match.h).
// Error: two levels where neither is inside the other (it names both sources, a domain of each that
// spans several domains of the other, and their hosts), or more than max_levels.
Result<Map> nest(Map first, Map second);

}  // namespace toprun::topology
