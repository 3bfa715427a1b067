#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/clock.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// The data that a pod needs for requests to its cluster's API server. The address is in
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. The token and the certificates are in files
// that the kubelet mounts for the pod's service account. (Kubernetes' document "Accessing the
// Kubernetes API from a Pod")
struct PodAccess {
  std::string host;
  int port = 443;
  std::string token;
  std::string authorities;  // PEM
};
inline constexpr const char* service_account = "/var/run/secrets/kubernetes.io/serviceaccount";

// Reads the pod's access data. nullopt: this is not a pod, or the pod has no token.
std::optional<PodAccess> pod_access(const Environment& environment,
                                    const std::filesystem::path& folder = service_account);

// A client for the API server with one connection. Blocks, at most until the deadline.
class ApiServer {
 public:
  ApiServer(PodAccess access, SteadyTime deadline);
  ~ApiServer();
  // Returns the body of an answer with status 200, in the format `accept`. Errors: no answer by the
  // deadline, an untrusted certificate, or the server's own error.
  Result<std::string> get(const std::string& path, std::string_view accept);
  // Returns "GET https://10.96.0.1:443/api/v1/nodes", for messages.
  std::string what(const std::string& path) const;

 private:
  struct Connection;
  std::optional<std::string> connect();
  std::string server_name() const;

  const PodAccess access_;
  const SteadyTime deadline_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace toprun::topology
