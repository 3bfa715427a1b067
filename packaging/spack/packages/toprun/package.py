"""Builds toprun from its sources with Spack's libraries: spack repo add packaging/spack; spack install toprun."""

from spack.package import conflicts, depends_on, license, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator


class Toprun(CMakePackage):
    """Launches distributed PyTorch jobs: places ranks by the network, starts them under Slurm, Kubernetes, MPI or ssh, and
    says what broke or hangs."""

    license("Apache-2.0", checked_by="toprun")
    # The folder or the repository of the sources: spack develop, or git = in a package of one's own site.
    git = "file:///srv/toprun.git"

    version("0.1.0", tag="v0.1.0")
    version("main", branch="main")

    variant("gloo", default=False, description="toprun bench with Gloo's collectives")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.10:", type="build")
    depends_on("boost@1.81:+system")
    depends_on("c-ares")
    depends_on("benchmark", type="build")
    depends_on("fmt@9:")
    depends_on("gloo", when="+gloo")
    depends_on("googletest", type="build")
    depends_on("libsodium")
    depends_on("mbedtls@2.28:3")
    depends_on("munge")
    depends_on("nlohmann-json@3.11:")
    depends_on("pcre2")
    depends_on("tomlplusplus@3.3:")
    depends_on("yaml-cpp@0.7:")

    conflicts("platform=darwin")
    conflicts("platform=windows")
    conflicts("%gcc@:11", msg="the standard library of g++ 12 or newer is needed")

    generator("ninja")
    build_targets = ["toprun", "bench_programs"]

    def cmake_args(self):
        return [self.define("TOPRUN_STATIC", False)]
