#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// Changes `object` in the same way as a strategic merge patch in Kubernetes. The format is
// described on kubernetes.io (tasks/manage-kubernetes-objects/update-api-object-kubectl-patch), the
// directives in the community repository (devel/sig-api-machinery/strategic-merge-patch.md). Maps
// are merged, and null removes a key. The types of core/v1, JobSet and the trainer define a merge
// key for each list below. The merge key identifies an element:
//   name             containers, initContainers, volumes, env, imagePullSecrets, replicatedJobs,
//                    resourceClaims, schedulingGates
//   mountPath        volumeMounts           devicePath   volumeDevices
//   containerPort    ports                  ip           hostAliases
//   topologyKey      topologySpreadConstraints           manager      runtimePatches
// All other lists, including tolerations, are replaced. `$patch: replace` and `$patch: delete` are
// supported. The API server merges objects of CRDs without these keys, so toprun applies the patch
// before it sends the object. Pure function. Errors (exit 2): the patch is not a map, changes the
// object's kind or name, has a list element without a merge key, or has another directive.
Result<void> apply_patch(nlohmann::ordered_json& object, const nlohmann::ordered_json& patch,
                         const std::string& file);

// Returns the fields of a patch that are probably misspelt, one line each with the likely meaning.
// A field is doubtful if it is a top-level field that no Kubernetes object has, or if its name is
// similar to a field at the same place in the object. This check is for kinds whose schema is
// unknown. Pure function.
std::vector<std::string> doubtful_fields(const nlohmann::ordered_json& object,
                                         const nlohmann::ordered_json& patch);

}  // namespace toprun::engines::kubernetes
