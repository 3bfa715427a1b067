#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::engines::kubernetes {

std::string_view first_label(std::string_view name);  // "web-1" of "web-1.web"

// "web.default.svc.cluster.local" from "web-1.web.default.svc.cluster.local", the form in which a
// headless service names a pod. Empty for another form.
std::string service_domain(std::string_view name);

// "web" and 1 from "web-1"; nullopt for another form. The number is below a million.
struct Numbered {
  std::string base;
  int number = 0;
};
std::optional<Numbered> numbered(std::string_view name);

// A Kubeflow pod: "job-master-0" or "job-worker-3".
struct Role {
  std::string job;
  bool is_master = false;
  int number = 0;
};
std::optional<Role> role_in(std::string_view name);

// The names of `count` pods, derived from pod 0's name "web-0.web". Empty if this pod, which has
// number `index`, has a name of another form.
std::vector<std::string> numbered_like(const std::string& first, std::string_view own, int index,
                                       int count);

}  // namespace toprun::engines::kubernetes
