#pragma once

#include <optional>
#include <string_view>

#include "base/text/error.h"
#include "machine/container/runtime.h"

namespace toprun::container {

// What the words mean that a runtime wrote on standard error before it gave up: the image is not
// there, not readable or for another machine, no space, user namespaces off, a mount's target that
// cannot be made, limits, a runtime that is too old or that the site forbids. nullopt: none of
// these.
std::optional<Error> explain_words(const Runtime& runtime, std::string_view its_words,
                                   const Run& run, const Node& node);

}  // namespace toprun::container
