#include "engines/kubernetes/secret.h"

#include <sodium/utils.h>

#include "engines/kubernetes/json_object.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr int variant = sodium_base64_VARIANT_ORIGINAL;

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  ::sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), variant);
  text.pop_back();  // libsodium's final zero
  return text;
}

}  // namespace

Result<Owner> parse_owner(std::string_view text) {
  const auto object = TRY(parse_object(text));
  Owner owner{text_at(object, {"apiVersion"}), text_at(object, {"kind"}),
              text_at(object, {"metadata", "name"}), text_at(object, {"metadata", "uid"})};
  if (!owner.name.empty() && !owner.uid.empty()) return owner;
  return fail("kubectl create", "kubectl did not print an object with a name and a uid",
              "check with kubectl get pods that kubectl works");
}

nlohmann::ordered_json secret_object(const Workload& job,
                                     const std::map<std::string, std::string>& values,
                                     const Owner* owner) {
  nlohmann::ordered_json metadata = {{"name", job.own_secret}};
  if (!job.space.empty()) metadata["namespace"] = job.space;
  metadata["labels"]["app.kubernetes.io/managed-by"] = "toprun";
  if (owner != nullptr) {
    metadata["ownerReferences"] =
        nlohmann::ordered_json::array({{{"apiVersion", owner->api_version},
                                        {"kind", owner->kind},
                                        {"name", owner->name},
                                        {"uid", owner->uid}}});
  }
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) data[name] = base64(value);
  return {{"apiVersion", "v1"}, {"kind", "Secret"},  {"metadata", std::move(metadata)},
          {"type", "Opaque"},   {"immutable", true}, {"data", std::move(data)}};
}

}  // namespace toprun::engines::kubernetes
