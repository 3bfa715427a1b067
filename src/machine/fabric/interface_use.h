#pragma once

#include <optional>
#include <string>

#include "machine/fabric/settings.h"

namespace toprun::fabric {

// Whether a job of several machines uses a network interface of this one.
struct InterfaceUse {
  std::optional<bool> is_used;  // nullopt: cannot be known without another machine of the job
  std::string why;              // a phrase
};

InterfaceUse use_of(const NodeFabric& node, const Interface& interface);

}  // namespace toprun::fabric
