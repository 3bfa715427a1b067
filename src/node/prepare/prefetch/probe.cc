#include "node/prepare/prefetch/key.h"

namespace toprun::prefetch {

const std::string_view probe =
#include "probe.inc"
    ;

}  // namespace toprun::prefetch
