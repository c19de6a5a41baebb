# SPDX-License-Identifier: Apache-2.0
"""The wheel has a library of the machine inside, and no module of one Python."""
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class NativeDistribution(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=NativeDistribution, cmdclass={"bdist_wheel": AnyPython})
