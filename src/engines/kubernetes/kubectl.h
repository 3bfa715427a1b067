#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/kubernetes/manifest.h"

namespace toprun::engines::kubernetes {

// Checks that PATH has kubectl.
Result<void> find_kubectl(const Environment& environment);

// Creates the manifest's object with kubectl. `trial`: only checks whether the cluster would accept
// the object. Returns the object's name from kubectl: "pytorchjob.kubeflow.org/train-x7k2p". Blocks
// for at most `limit`. Error: there is no kubectl, the cluster does not answer, or the cluster
// refuses. A refusal contains the cluster's message.
Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit);

// Creates the object like create(), but returns the object's identity. It distinguishes the object
// from others with the same name.
Result<Owner> create_owner(std::string_view manifest, const Environment& environment,
                           std::chrono::milliseconds limit);

// Deletes a created object with kubectl.
Result<void> remove(const Owner& object, const std::string& space, const Environment& environment,
                    std::chrono::milliseconds limit);

// Returns the name in the result of create(): "train-x7k2p" in
// "pytorchjob.kubeflow.org/train-x7k2p".
std::string_view name_in(std::string_view object);

// Returns an error for a failed kubectl: its stderr on one line, with advice. Pure function.
Error refusal(std::string_view command, std::string_view stderr_text);
// Whether kubectl failed because no cluster is configured.
bool is_without_cluster(const Error& refusal);

// Returns the submitting user's name as a label value, which is never empty.
std::string user_of(const Environment& environment);

}  // namespace toprun::engines::kubernetes
