# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.

import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class UcxPredreg(AutotoolsPackage):
    """Predictive memory registration for UCX: a library that is preloaded beside an
    unmodified UCX, and keeps memory registered with the network adapter only while
    it is needed."""

    # The tarball is what `make dist` leaves: Spack takes it from the folder that it
    # is called in, or from a mirror
    homepage = "https://ucx-predreg.example.invalid"
    url = "file://{0}/ucx-predreg-0.1.0.tar.gz".format(os.getcwd())
    manual_download = True

    license("BSD-3-Clause")

    # Add sha256="..." from ucx-predreg-0.1.0.tar.gz.sha256; without, Spack wants
    # --no-checksum
    version("0.1.0")

    variant("arena", default=True, description="Arena of registered memory")
    variant("eager", default=True, description="Small sends from reused buffers")
    variant("firehose", default=True, description="libucp_firehose and windows by it")
    variant("libdw", default=True, description="Names of functions in reports")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("ucx@1.13:1.23")
    depends_on("zlib-api")
    depends_on("elfutils", when="+libdw")

    def configure_args(self):
        args = ["--disable-tests", "--with-ucx={0}".format(self.spec["ucx"].prefix)]
        for name in ("arena", "eager", "firehose", "libdw"):
            args += self.with_or_without(name)
        return args
