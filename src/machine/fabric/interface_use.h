#pragma once

#include <optional>
#include <string>

#include "machine/fabric/settings.h"

namespace toprun::fabric {

// Whether a job on several machines uses one of this machine's network interfaces.
struct InterfaceUse {
  std::optional<bool> is_used;  // nullopt: this depends on the job's other machines
  std::string why;              // the reason, as a phrase
};

InterfaceUse use_of(const NodeFabric& node, const Interface& interface);

}  // namespace toprun::fabric
