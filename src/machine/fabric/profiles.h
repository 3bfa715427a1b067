#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "machine/fabric/devices.h"
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// The settings that NCCL needs on a network, according to the network's vendor or operator.

enum class ClueKind : std::uint8_t {
  path,    // a file or folder with this path exists
  dmi,     // the field in /sys/class/dmi/id contains the text: "FIELD=TEXT"
  vendor,  // an RDMA device has this PCI vendor
};

struct Clue {
  ClueKind kind;
  std::string_view text;
};

// "NAME=VALUE". A value that begins with '+' is for a search path: it is put before the variable's
// existing value, separated by a colon.
struct ProfileVariable {
  std::string_view name, value;
  std::string_view only_with = {};  // set only if this path exists
};

struct Profile {
  std::string_view name;        // the value for --fabric
  std::string_view title;       // "Google A3 Mega, GPUDirect-TCPXO"
  std::span<const Clue> clues;  // all clues have to be present
  // The path of a script on the node, which bash sources after setting `variables`. The script sets
  // further variables for the machine on which the script runs. toprun does not contain these
  // values itself, because a copy would become outdated.
  std::string_view script = {};
  std::span<const ProfileVariable> variables;
  std::string_view note = {};    // other important facts about this network
  std::string_view source = {};  // where the values are documented
  std::string_view date = {};    // when the values were copied from there
  // Whether NCCL has a plugin for this network that is as fast as RDMA and needs no verbs devices.
  bool has_own_transport = false;
  // What a user can do if NCCL does not use GPUDirect; empty: the advice of `toprun doctor`.
  std::string_view without_gpu_direct = {};
};

// Returns all profiles, in the order of detection.
std::span<const Profile> profiles();
const Profile* find_profile(std::string_view name);

// Returns the first profile whose clues (files or devices) are all present; null: there is no such
// profile, so the network is generic.
const Profile* detect_profile(const Sysfs& sysfs, std::span<const Device> devices);

// Returns the first of the profile's clues that is missing: "/sys/class/cxi is not there"; empty:
// all clues are present.
std::string absent_mark(const Profile& profile, const Sysfs& sysfs,
                        std::span<const Device> devices);

// Returns why this profile was detected: "/var/lib/tcpxo/lib64/nccl-env-profile.sh is there".
std::string evidence_of(const Profile& profile);

}  // namespace toprun::fabric
