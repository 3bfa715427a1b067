#include "node/prepare/prefetch/probe.h"

namespace toprun::prefetch {

const std::string_view probe =
#include "probe.inc"
    ;

}  // namespace toprun::prefetch
