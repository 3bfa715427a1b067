#include "cli/doctor.h"

#include "base/print.h"
#include "doctor/checks.h"
#include "doctor/report.h"
#include "hosts/address.h"

namespace toprun::cli {

using options::FlagId;

Result<int> run_doctor(const options::Call& call) {
  const auto root = call.text(FlagId::root);
  const fabric::Sysfs sysfs(root.value_or("/"));
  const auto findings =
      doctor::examine(doctor::read_facts(sysfs, !root.has_value(), call.environment));
  int printed = 0;
  if (call.has(FlagId::json)) {
    printed = print_bytes(doctor::findings_json(findings, root ? *root : hosts::host_name()));
  } else if (call.has(FlagId::fix)) {
    printed = print_bytes(doctor::fixes_text(findings));
  } else {
    printed = print(doctor::findings_text(findings, call.has(FlagId::all)));
  }
  return printed == 0 ? doctor::exit_code(findings) : printed;
}

}  // namespace toprun::cli
