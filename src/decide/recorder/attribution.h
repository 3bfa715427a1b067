#pragma once

#include "decide/recorder/summary.h"

namespace toprun::recorder {

// Some dumps do not list the members of a group. Assigns the ranks of these dumps to the group of
// the same name in other dumps, if exactly one such group contains the rank.
Summary attributed(Summary summary);

}  // namespace toprun::recorder
