#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// Changes `object` as Kubernetes' strategic merge patch does (kubernetes.io,
// tasks/manage-kubernetes- objects/update-api-object-kubectl-patch; its directives: community,
// devel/sig-api-machinery/ strategic-merge-patch.md): maps are merged, null takes a key away, and
// elements of these lists are found by a key of theirs, which the types of core/v1, JobSet and the
// trainer name:
//   name             containers, initContainers, volumes, env, imagePullSecrets, replicatedJobs
//   mountPath        volumeMounts           devicePath   volumeDevices
//   containerPort    ports                  ip           hostAliases
//   topologyKey      topologySpreadConstraints           manager      runtimePatches
// All other lists, tolerations among them, are replaced. `$patch: replace` and `$patch: delete` are
// obeyed. The API server itself merges objects of CRDs without these keys, so this is done before
// they are sent. Pure. Errors (exit 2): the patch is not a map, it changes the kind or the name of
// the object, a list's element without its key, another directive.
Result<void> apply_patch(nlohmann::ordered_json& object, const nlohmann::ordered_json& patch,
                         const std::string& file);

// Fields of a patch that are likely to be misspelt, one line each with the probable meaning. These
// are fields that no object has at its top level, and fields similar to one of the object at the
// same place. For kinds whose schema is unknown. Pure function.
std::vector<std::string> doubtful_fields(const nlohmann::ordered_json& object,
                                         const nlohmann::ordered_json& patch);

}  // namespace toprun::engines::kubernetes
