#include "base/text/version.h"

namespace toprun {
namespace {

constexpr Feature made_up[] = {{"made_up", "do what only the next version does"}};

}  // namespace

constinit const std::string_view version = TOPRUN_VERSION;
constinit const std::span<const Feature> features = made_up;

}  // namespace toprun
