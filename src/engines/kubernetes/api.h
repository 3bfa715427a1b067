#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// A kind of objects. `name` is the kind's name for kubectl: "pytorchjobs.kubeflow.org", "pods".
// `versions` are the versions of the kind's group that toprun supports, those of current clusters
// first: "v1beta1 v1beta2".
struct Resource {
  std::string_view name;
  std::string_view versions;
};
inline constexpr Resource pods_resource{"pods", "v1"};
inline constexpr Resource nodes_resource{"nodes", "v1"};
inline constexpr Resource events_resource{"events", "v1"};
inline constexpr Resource claims_resource{"persistentvolumeclaims", "v1"};
inline constexpr Resource queues_resource{"localqueues.kueue.x-k8s.io", "v1beta1 v1beta2"};

// The limit for the number of objects in one answer. In an answer, one pod takes 5 KB, or some
// hundred KB if its command line is long.
inline constexpr std::size_t page_size = 500;

struct Answer {
  enum class Kind {
    reported,
    absent,     // there is no such object or kind
    forbidden,  // the cluster does not answer this user
  };
  Kind kind = Kind::reported;
  Error refusal;  // the cluster's message, if forbidden

  bool is_reported() const { return kind == Kind::reported; }
  bool is_forbidden() const { return kind == Kind::forbidden; }
};

// Receives a page of a list. `is_first`: discard all earlier pages. Returns false if no more pages
// are wanted.
using TakePage = std::function<bool(const nlohmann::json& page, bool is_first)>;

// Reads objects as the API server sends them, with `kubectl get --raw`. Without --raw, `kubectl get
// -o json` itself parses each object, which takes 40 times as long (for 5,000 pods, 22 s instead of
// 0.6 s). A query for one object blocks for at most `limit`, a query for a list for at most `limit`
// per page. Thread-safe. Error: there is no answer, or an answer for which Answer::Kind has no
// value.
class Api {
 public:
  Api(const Environment& environment, std::chrono::milliseconds limit);

  enum class Scope { own_namespace, cluster };
  // `query`: "labelSelector=…", with escaped values.
  Result<Answer> list(const Resource& resource, Scope scope, std::string_view query,
                      const TakePage& take) const;
  // `name`: an object in the namespace, or "NAME/SUBRESOURCE".
  Result<Answer> get(const Resource& resource, const std::string& name,
                     nlohmann::json& object) const;
  // Returns TOPRUN_NAMESPACE, else the namespace of kubectl's context, else this pod's namespace,
  // else "default".
  Result<std::string> space() const;

 private:
  struct Raw;
  Result<Raw> raw(const std::string& path, const Resource& resource) const;
  Result<Raw> first_version(const Resource& resource,
                            const std::function<Result<Raw>(std::string_view version)>& ask) const;
  Result<Raw> pages(const std::string& path, const Resource& resource, std::string_view query,
                    const TakePage& take) const;
  bool has(const Resource& resource, std::string_view version) const;
  std::string context_namespace() const;

  const Environment environment_;
  const std::chrono::milliseconds limit_;
  mutable std::once_flag asked_;
  mutable std::string space_;
};

// Escapes a value for a query: all characters but the unreserved ones (RFC 3986). Pure function.
std::string escaped(std::string_view value);

// Whether kubectl's message says that a kind or an object does not exist. Pure function.
bool says_not_found(std::string_view stderr_text);
bool says_forbidden(std::string_view stderr_text);

}  // namespace toprun::engines::kubernetes
