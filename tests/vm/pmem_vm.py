#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command of this machine inside a small VM that has a real kernel persistent-memory device.

    tests/vm/pmem_vm.py [--bus=nvdimm|cxl] [--size=512M] [--mode=fsdax|devdax|system-ram] [--device=FILE] [--keep]
                        [--timeout=S] -- COMMAND...

    fsdax       /dev/pmem0, ext4, mounted with DAX at /mnt/pmem: MAP_SYNC is granted there
    devdax      /dev/dax0.0, a character device
    system-ram  the device as a NUMA node without processors

The device is an NVDIMM, or with --bus=cxl a CXL type-3 memory device whose region the guest makes. QEMU 7.2 and Linux
6.1 know persistent regions only, and a second boot finds none of them: --keep needs an NVDIMM. QEMU 10.0 and Linux 6.12
of Debian's backports make volatile ones, too (volatile-memdev=, create_ram_region in sysfs), if the processor does not
say that it is virtual (-cpu max,-hypervisor): elsewhere Linux refuses to commit a region whose caches it cannot flush.

The guest sees this machine's file system, read-only, at the same paths; it writes to /mnt/pmem and /run only. The
command's exit status is returned; 77 where QEMU, its helpers or a kernel cannot be had, with a line that says so.
FILE is the medium: kill QEMU and it holds what a cut of power would have left, but for the processor's caches, which
QEMU does not model (tests/model/wal_store_fuzz_test.cc does). --keep boots on what it holds.

The kernel is the distribution's, fetched once with apt-get into the user's cache folder. The processor is emulated
(TCG), so that no rights are needed: correct and slow. Never time it.
"""
import argparse
import base64
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("qemu-system-x86_64", "ndctl", "daxctl", "cxl", "cpio", "mkfs.ext4", "busybox")
MODULES = """virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache 9pnet 9pnet_virtio
 9p crc32c_generic libcrc32c crc16 mbcache jbd2 ext4 libnvdimm nfit nd_btt nd_pmem device_dax dax_pmem kmem
 cxl_acpi cxl_pmem cxl_mem cxl_pci""".split()
SKIPPED = 77
NO_STATUS = 124
SETTINGS_MAX = 1900  # of 2,047 bytes; a longer command line is a guest that never starts


class Unavailable(Exception):
    """No VM here, and why."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mezzanine" / "vm"


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def fetch_kernel(folder):
    """Unpacks the distribution's kernel package, without installing it."""
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, check=True).stdout
        image = re.search(r"Depends: (linux-image-\S+)", depends.decode())
        if image is None:
            raise Unavailable("the distribution has no linux-image-amd64")
        subprocess.run(["apt-get", "download", "-qq", image[1]], cwd=made, check=True, capture_output=True)
        subprocess.run(["dpkg", "-x", next(made.glob("*.deb")), made], check=True)
        next(made.glob("*.deb")).unlink()
        made.rename(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"no kernel, and apt-get cannot fetch one ({error})") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def prepare():
    """Returns the kernel and the initial RAM disk; makes what is not there yet."""
    for program in PROGRAMS:
        if shutil.which(program, path=search_path()) is None:
            raise Unavailable(f"{program} is not installed: tools/install_deps vm")
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    root = folder / "kernel"
    if not root.exists():
        fetch_kernel(root)
    kernel = next(root.glob("boot/vmlinuz-*"))
    disk = folder / "initrd"
    sources = (HERE / "guest_init", HERE / "pmem_vm.py", kernel)
    if not disk.exists() or disk.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        pack_disk(next(root.glob("lib/modules/*/kernel")), disk)
    return kernel, disk


def pack_disk(modules, disk):
    with tempfile.TemporaryDirectory(dir=disk.parent) as name:
        tree = Path(name) / "root"
        for folder in ("bin", "mods", "proc", "sys", "dev", "new"):
            (tree / folder).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
        shutil.copy(HERE / "guest_init", tree / "init")
        (tree / "init").chmod(0o755)
        for module in MODULES:
            for file in modules.rglob(f"{module}.ko"):
                shutil.copy(file, tree / "mods")
        names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names.encode(),
                                 capture_output=True, check=True).stdout
        packed = Path(name) / "initrd"
        packed.write_bytes(gzip.compress(archive, compresslevel=1))
        packed.rename(disk)


def nvdimm(device, size):
    """Node 0 has the processors and the memory; the device is node 1's, which has neither."""
    return [
        "-machine", "q35,nvdimm=on", "-m", "1G,slots=4,maxmem=64G", "-object", "memory-backend-ram,id=ram0,size=1G",
        "-numa", "node,nodeid=0,memdev=ram0,cpus=0-1", "-numa", "node,nodeid=1",
        "-object", f"memory-backend-file,id=pm0,share=on,mem-path={device},size={size},align=128M",
        "-device", "nvdimm,id=nv0,memdev=pm0,node=1"]


def cxl(device, size):
    """Two root ports: with one, QEMU 7.2 and Linux disagree about the decoder, and what is stored reads as zeros. The
    labels lie beside the device. Node 1 is the window's."""
    labels = device.with_name(device.name + ".labels")
    labels.unlink(missing_ok=True)
    subprocess.run(["truncate", "-s", "128M", labels], check=True)
    return [
        "-machine", "q35,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G", "-m", "2G,slots=4,maxmem=16G",
        "-object", f"memory-backend-file,id=pm0,share=on,mem-path={device},size={size}",
        "-object", f"memory-backend-file,id=labels0,share=on,mem-path={labels},size=128M",
        "-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1",
        "-device", "cxl-rp,port=0,bus=cxl.1,id=port0,chassis=0,slot=2",
        "-device", "cxl-rp,port=1,bus=cxl.1,id=port1,chassis=0,slot=3",
        "-device", "cxl-type3,bus=port0,memdev=pm0,lsa=labels0,id=mem0"]


BUSES = {"nvdimm": nvdimm, "cxl": cxl}


class Vm:
    """A running VM. Its console, line by line, ends when the guest or cut() ends it, or the time is over."""

    def __init__(self, command, device, size="512M", mode="fsdax", keep=False, timeout=300,
                 bus="nvdimm"):
        kernel, disk = prepare()
        device = Path(device)
        if not keep or not device.exists():
            device.unlink(missing_ok=True)
            subprocess.run(["truncate", "-s", size, device], check=True)
        encoded = base64.b64encode(shlex.join(map(str, command)).encode()).decode()
        settings = f"pmem_bus={bus} pmem_mode={mode} pmem_keep={int(keep)} pmem_command={encoded}"
        if len(settings) > SETTINGS_MAX:
            raise ValueError(f"the command is longer than a kernel's command line: {command}")
        # Each PCI device names its bus: CXL's host bridge, which takes none, would be taken for it.
        arguments = [
            "qemu-system-x86_64", *BUSES[bus](device, size), "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
            "-nic", "none", "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,bus=pcie.0,fsdev=host,mount_tag=host",
            "-kernel", str(kernel), "-initrd", str(disk), "-display", "none", "-monitor", "none", "-serial", "stdio",
            # On a busy machine the ticks that Linux counts at its boot come too late, and it ends: "IO-APIC + timer".
            "-no-reboot", "-append", "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check "
            + settings]
        self.status = NO_STATUS
        self._process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT)
        self._timer = threading.Timer(timeout, self._process.kill)
        self._timer.daemon = True
        self._timer.start()

    def cut(self):
        """The power goes. What the guest had printed by then can still be read."""
        self._process.kill()

    def lines(self):
        """Whole lines only: one that was cut short says nothing."""
        for raw in self._process.stdout:
            if not raw.endswith(b"\n"):
                break
            line = re.sub(r"\x1bc|\x1b\[[?0-9;]*[a-zA-Z]|[\r\n]", "", raw.decode(errors="replace"))
            status = re.match(r"guest status (\d+)", line)
            if status is not None:
                self.status = int(status[1])
            yield line
        self._process.wait()
        self._timer.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bus", default="nvdimm", choices=BUSES)
    parser.add_argument("--size", default="512M")
    parser.add_argument("--mode", default="fsdax", choices=("fsdax", "devdax", "system-ram"))
    parser.add_argument("--device", default=None)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.keep and options.bus == "cxl":
        parser.error("--keep needs --bus=nvdimm: a second boot finds no CXL region")
    with tempfile.TemporaryDirectory() as folder:
        device = options.device or Path(folder) / "pmem"
        try:
            vm = Vm(options.command, device, options.size, options.mode, options.keep, options.timeout,
                    options.bus)
        except Unavailable as why:
            print(f"skipped: no VM here: {why}", file=sys.stderr)
            return SKIPPED
        for line in vm.lines():
            print(line, flush=True)
        return vm.status


if __name__ == "__main__":
    sys.exit(main())
