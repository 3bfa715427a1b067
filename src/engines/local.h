#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The user started toprun without an engine: one node, this one. Always returns a result.
class LocalEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::local; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
