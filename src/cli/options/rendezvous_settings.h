#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/options/call.h"

namespace toprun::options {

struct RendezvousSettings {
  std::map<std::string, std::string> known;
  std::string note;  // names the settings that have no effect; empty: all settings have an effect

  bool operator==(const RendezvousSettings&) const = default;
};

// Parses K=V,K=V with the keys of torchrun's backends c10d and static
// (torch.distributed.elastic.rendezvous in PyTorch 2.13). is_host becomes "1" or "0". All times are
// whole seconds, at least 1. As in torchrun, a key that the backend does not read has no effect,
// even if its value is invalid. A key without a value is an error.
Result<RendezvousSettings> parse_rendezvous_settings(const Argument& argument,
                                                     std::string_view backend);

}  // namespace toprun::options
