#include "node/worker/warm/bootstrap.h"

namespace toprun::warm {

const std::string_view bootstrap =
#include "bootstrap.inc"
    ;

}  // namespace toprun::warm
