#include "engines/kubernetes/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view directive = "$patch";

struct MergeKey {
  std::string_view list;
  std::string_view key;
};
constexpr std::array merge_keys = {
    MergeKey{"containers", "name"},
    MergeKey{"initContainers", "name"},
    MergeKey{"volumes", "name"},
    MergeKey{"env", "name"},
    MergeKey{"imagePullSecrets", "name"},
    MergeKey{"replicatedJobs", "name"},
    MergeKey{"resourceClaims", "name"},
    MergeKey{"schedulingGates", "name"},
    MergeKey{"volumeMounts", "mountPath"},
    MergeKey{"volumeDevices", "devicePath"},
    MergeKey{"ports", "containerPort"},
    MergeKey{"hostAliases", "ip"},
    MergeKey{"topologySpreadConstraints", "topologyKey"},
    MergeKey{"runtimePatches", "manager"},
};

class Patcher {
 public:
  explicit Patcher(const std::string& file) : file_(file) {}

  Result<void> merge(Json& value, const Json& patch, const std::string& path) {
    if (patch.is_object() && (value.is_object() || value.is_null())) {
      return merge_map(value, patch, path);
    }
    value = patch;
    return {};
  }

 private:
  std::unexpected<Error> refuse(const std::string& path, std::string why, std::string fix = {}) {
    return usage(fmt::format("{}: {}", file_, path.empty() ? "." : path), std::move(why),
                 std::move(fix));
  }

  // What $patch of a map or a list's element says; empty: nothing.
  Result<std::string> order_in(const Json& patch, const std::string& path) {
    for (const auto& [key, value] : patch.items()) {
      if (key.starts_with('$') && key != directive) {
        return refuse(path, fmt::format("unknown directive {}", key),
                      "write the whole list with $patch: replace");
      }
    }
    const auto found = patch.find(directive);
    if (found == patch.end()) return std::string();
    const std::string word = found->is_string() ? found->get<std::string>() : "";
    if (word == "replace" || word == "delete" || word == "merge") return word;
    return refuse(path, "$patch must be replace, delete or merge");
  }

  Result<void> merge_map(Json& value, const Json& patch, const std::string& path) {
    const auto order = TRY(order_in(patch, path));
    if (order == "delete" || order == "replace" || value.is_null()) value = Json::object();
    for (const auto& [key, part] : patch.items()) {
      if (key == directive || order == "delete") continue;
      const std::string below = path.empty() ? key : path + '.' + key;
      if (part.is_null()) {
        value.erase(key);
      } else if (const auto done = merge_member(value[key], key, part, below); !done) {
        return done;
      }
    }
    return {};
  }

  Result<void> merge_member(Json& value, const std::string& key, const Json& part,
                            const std::string& path) {
    const auto* by = std::ranges::find(merge_keys, key, &MergeKey::list);
    if (by == merge_keys.end() || !part.is_array()) return merge(value, part, path);
    return merge_list(value, std::string(by->key), part, path);
  }

  Result<void> merge_list(Json& list, const std::string& key, const Json& patch,
                          const std::string& path) {
    if (!list.is_array()) list = Json::array();
    for (std::size_t i = 0; i < patch.size(); ++i) {
      const Json& element = patch[i];
      const std::string place = fmt::format("{}[{}]", path, i);
      if (!element.is_object()) return refuse(place, "it is not a map");
      const auto order = TRY(order_in(element, place));
      if (order == "replace" && !element.contains(key)) {
        list = Json::array();
        continue;
      }
      if (!element.contains(key)) {
        return refuse(place, fmt::format("the element needs a {}, which identifies it", key));
      }
      if (const auto done = merge_element(list, key, element, order, place); !done) return done;
    }
    return {};
  }

  Result<void> merge_element(Json& list, const std::string& key, const Json& element,
                             const std::string& order, const std::string& place) {
    const auto found = std::ranges::find_if(list, [&](const Json& one) {
      return one.is_object() && one.contains(key) && one.at(key) == element.at(key);
    });
    if (order == "delete") {
      if (found != list.end()) list.erase(found);
      return {};
    }
    if (found != list.end()) return merge_map(*found, element, place);
    list.push_back(Json::object());
    return merge_map(list.back(), element, place);
  }

  const std::string& file_;
};

// null if it is not there, or `value` is not a map.
Json part_of(const Json& value, const std::string& key) {
  const auto found = value.is_object() ? value.find(key) : value.end();
  return found == value.end() ? Json() : *found;
}

constexpr std::array top_fields = {"apiVersion", "kind", "metadata", "spec", "status"};
// Of core/v1, so that one that is a field already is not taken for another one.
constexpr std::array pod_fields = {
    "hostIPC",          "hostPID",          "hostNetwork",        "hostUsers",
    "hostname",         "nodeName",         "nodeSelector",       "volumes",
    "initContainers",   "tolerations",      "affinity",           "priority",
    "subdomain",        "dnsPolicy",        "dnsConfig",          "schedulerName",
    "runtimeClassName", "serviceAccount",   "serviceAccountName", "overhead",
    "securityContext",  "imagePullSecrets", "hostAliases",        "restartPolicy",
    "resourceClaims"};
constexpr std::array container_fields = {
    "args",           "command",       "env",           "envFrom",
    "image",          "lifecycle",     "livenessProbe", "ports",
    "readinessProbe", "resources",     "startupProbe",  "stdin",
    "stdinOnce",      "tty",           "volumeDevices", "volumeMounts",
    "workingDir",     "restartPolicy", "resizePolicy",  "securityContext"};
// Their keys are free.
constexpr std::array free_maps = {"labels", "annotations", "nodeSelector", "matchLabels",
                                  "limits", "requests",    "data"};

template <std::size_t n>
bool has_field(const std::array<const char*, n>& fields, std::string_view field) {
  return std::ranges::find(fields, field) != fields.end();
}

// The names that stand at this place of the object, or may.
std::vector<std::string> fields_at(const Json& value) {
  std::vector<std::string> names;
  for (const auto& [key, part] : value.items()) names.push_back(key);
  if (value.contains("containers")) names.insert(names.end(), pod_fields.begin(), pod_fields.end());
  if (value.contains("image")) {
    names.insert(names.end(), container_fields.begin(), container_fields.end());
  }
  return names;
}

// The object's element that a list's element of the patch changes; null: there is none.
Json element_like(const Json& list, const Json& element) {
  for (const Json& one : list) {
    if (!part_of(element, "name").is_null() && part_of(one, "name") == element.at("name")) {
      return one;
    }
  }
  return {};
}

void add_doubts(const Json& value, const Json& patch, const std::string& path,
                std::vector<std::string>& doubts) {
  if (patch.is_array() && value.is_array()) {
    for (std::size_t i = 0; i < patch.size(); ++i) {
      add_doubts(element_like(value, patch[i]), patch[i], fmt::format("{}[{}]", path, i), doubts);
    }
  }
  if (!patch.is_object() || !value.is_object()) return;
  const auto names = fields_at(value);
  for (const auto& [key, part] : patch.items()) {
    if (key.starts_with('$') || has_field(free_maps, key)) continue;
    const std::string place = path.empty() ? key : path + "." + key;
    if (std::ranges::find(names, key) != names.end()) {
      add_doubts(part_of(value, key), part, place, doubts);
      continue;
    }
    const auto meant = did_you_mean(key, names);
    const bool is_unknown = path.empty() && !has_field(top_fields, key);
    if (!meant && !is_unknown) continue;
    doubts.push_back(place +
                     (is_unknown ? ": no object has such a field"
                                 : ": the job's object does not have this field yet") +
                     (meant ? "; did you mean " + *meant + "?" : ""));
  }
}

}  // namespace

std::vector<std::string> doubtful_fields(const Json& object, const Json& patch) {
  std::vector<std::string> doubts;
  add_doubts(object, patch, "", doubts);
  return doubts;
}

Result<void> apply_patch(Json& object, const Json& patch, const std::string& file) {
  if (!patch.is_object()) {
    return usage(file, "it is not a map", "write the fields of the object that you want to change");
  }
  const Json before = object;
  if (auto done = Patcher(file).merge(object, patch, ""); !done) return done;
  for (const char* key : {"apiVersion", "kind"}) {
    if (part_of(object, key) == part_of(before, key)) continue;
    return usage(fmt::format("{}: {}", file, key),
                 "this value differs from the value in this job's object, " +
                     before.at(key).get<std::string>(),
                 "leave this field out, or choose another --operator");
  }
  for (const char* key : {"name", "generateName", "namespace"}) {
    const Json is = part_of(part_of(object, "metadata"), key);
    if (is == part_of(part_of(before, "metadata"), key)) continue;
    return usage(fmt::format("{}: metadata.{}", file, key), "a patch may not change this field",
                 "use --job-name or --namespace");
  }
  return {};
}

}  // namespace toprun::engines::kubernetes
