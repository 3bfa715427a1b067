#include "decide/topology/cloud/cloud.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

TEST(Cloud, IsNamedByTheFirmware) {
  // product_name, sys_vendor, bios_vendor, bios_version, chassis_asset_tag
  const std::vector<std::pair<Dmi, Cloud>> rows = {
      {{"Google Compute Engine", "Google", "Google", "Google", ""}, Cloud::gcp},
      {{"Google", "Google", "Google", "Google", ""}, Cloud::gcp},
      {{"Eve", "Google", "coreboot", "MrChromebox", ""}, Cloud::none},
      {{"p5en.48xlarge", "Amazon EC2", "Amazon EC2", "1.0", "Amazon EC2"}, Cloud::aws},
      {{"HVM domU", "Xen", "Xen", "4.11.amazon", ""}, Cloud::aws},
      {{"HVM domU", "Xen", "Xen", "4.11", ""}, Cloud::none},
      {{"Standard PC (i440FX + PIIX, 1996)", "QEMU", "SeaBIOS", "1.16", "OracleCloud.com"},
       Cloud::oci},
      {{"ORACLE SERVER E4-2c", "Oracle Corporation", "American Megatrends", "66",
        "OracleCloud.com"},
       Cloud::oci},
      {{"ORACLE SERVER E4-2c", "Oracle Corporation", "American Megatrends", "66", "1234"},
       Cloud::none},
      {{"Virtual Machine", "Microsoft Corporation", "American Megatrends", "090008",
        "7783-7084-3265-9085-8269-3286-77"},
       Cloud::none},
      {{"PowerEdge XE9680", "Dell Inc.", "Dell Inc.", "2.1.3", "RACK7"}, Cloud::none},
      {{"", "", "", "", ""}, Cloud::none},
  };
  for (const auto& [dmi, cloud] : rows) {
    EXPECT_EQ(name_of(cloud_of(dmi)), name_of(cloud)) << dmi.product_name;
  }
}

TEST(Cloud, FirmwareIsReadFromAFolder) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  EXPECT_EQ(cloud_of(read_dmi(folder / "none")), Cloud::none);
  EXPECT_EQ(cloud_of(read_dmi(folder)), Cloud::none);
  std::ofstream(folder / "chassis_asset_tag") << "OracleCloud.com\n";
  EXPECT_EQ(cloud_of(read_dmi(folder)), Cloud::oci);
  std::ofstream(folder / "chassis_asset_tag") << std::string(5000, 'x');
  EXPECT_EQ(cloud_of(read_dmi(folder)), Cloud::none);
}

TEST(Cloud, IsAskedOnlyForWhatItCanTell) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      // --topology, the clouds to query
      {"auto", "gcp oci "}, {"slurm", ""},   {"gcp", "gcp "},
      {"oci", "oci "},      {"aws", "aws "}, {"racks.json", "aws "},
  };
  for (const auto& [topology, expected] : rows) {
    std::string asked;
    for (const Cloud cloud : {Cloud::none, Cloud::gcp, Cloud::oci, Cloud::aws}) {
      if (worth_asking(cloud, topology)) asked += std::string(name_of(cloud)) + " ";
    }
    EXPECT_EQ(asked, expected) << topology;
  }
}

}  // namespace
}  // namespace toprun::topology
