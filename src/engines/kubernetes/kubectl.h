#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/kubernetes/secret.h"

namespace toprun::engines::kubernetes {

// Error: there is no kubectl in PATH.
Result<void> find_kubectl(const Environment& environment);

// Has kubectl create the object of this manifest; `trial`: only asks the cluster whether it would
// take it. The object as kubectl names it: "pytorchjob.kubeflow.org/train-x7k2p". Blocks `limit` at
// most. Error: no kubectl, no answer, or the cluster's own words.
Result<std::string> create(std::string_view manifest, bool trial, const Environment& environment,
                           std::chrono::milliseconds limit);

// The same, with what tells the object apart from any other of its name.
Result<Owner> create_owner(std::string_view manifest, const Environment& environment,
                           std::chrono::milliseconds limit);

// Has kubectl delete what was made.
Result<void> remove(const Owner& object, const std::string& space, const Environment& environment,
                    std::chrono::milliseconds limit);

// "train-x7k2p" of "pytorchjob.kubeflow.org/train-x7k2p".
std::string_view name_in(std::string_view object);

// What a kubectl that failed says on stderr, on one line, and what to do about it. Pure.
Error refusal(std::string_view command, std::string_view stderr_text);
// Whether kubectl refused because it knows no cluster at all.
bool is_without_cluster(const Error& refusal);

// The user who submits, as a label's value. Never empty.
std::string user_of(const Environment& environment);

}  // namespace toprun::engines::kubernetes
