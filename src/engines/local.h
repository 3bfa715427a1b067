#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// Only the user started us: one node, this one. Always answers.
class LocalEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::local; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
