#include "base/text/version.h"

namespace toprun {

// Alone in this file, which a test program replaces to be of the next version.
constinit const std::string_view version = TOPRUN_VERSION;
constinit const std::span<const Feature> features;

}  // namespace toprun
