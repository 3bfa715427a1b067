#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/kubernetes/secret.h"

namespace toprun::engines::kubernetes {

// Error: PATH has no kubectl.
Result<void> find_kubectl(const Environment& environment);

// Creates the manifest's object with kubectl. `trial`: only checks whether the cluster would accept
// it. Returns the object's name from kubectl: "pytorchjob.kubeflow.org/train-x7k2p". Blocks for at
// most `limit`. Error: no kubectl, no answer, or the cluster's own words.
Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit);

// The same, but returns an identity that distinguishes the object from others with the same name.
Result<Owner> create_owner(std::string_view manifest, const Environment& environment,
                           std::chrono::milliseconds limit);

// Deletes a created object with kubectl.
Result<void> remove(const Owner& object, const std::string& space, const Environment& environment,
                    std::chrono::milliseconds limit);

// "train-x7k2p" in "pytorchjob.kubeflow.org/train-x7k2p".
std::string_view name_in(std::string_view object);

// A failed kubectl's stderr on one line, and what to do about it. Pure function.
Error refusal(std::string_view command, std::string_view stderr_text);
// Whether kubectl refused because it has no cluster configured.
bool is_without_cluster(const Error& refusal);

// The submitting user as a label value. Never empty.
std::string user_of(const Environment& environment);

}  // namespace toprun::engines::kubernetes
