#pragma once

#include "decide/recorder/summary.h"

namespace toprun::recorder {

// Gives ranks whose dump does not tell the members of a group to the group of that name that the
// others' dumps tell, if it is one only that has the rank.
Summary attributed(Summary summary);

}  // namespace toprun::recorder
