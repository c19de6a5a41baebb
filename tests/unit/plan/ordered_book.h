// SPDX-License-Identifier: Apache-2.0
// A price book in which two kinds of SCM can be had: CXL memory and PMem. Its prices are made up for the tests.
#pragma once

#include <string>

namespace mezz::plan {

// DRAM costs 1 a GB; CXL memory 0.6 and PMem 0.3 of that. CXL has slots of its own, PMem shares those of DRAM.
inline std::string OrderedBookText() {
  return R"(name: two kinds of SCM
as_of: 2026-06-30
currency: USD
servers:
  - name: one_socket
    sockets: 1
    cores: 16
    channels: 8
    slots: {dimm: 8, cxl: 4, nvme: 2}
    cpu: {value: 300, unit: USD/socket, source: test, date: 2026-06-30}
    chassis: {value: 300, unit: USD/server, source: test, date: 2026-06-30}
    watts: {value: 300, unit: W/server, source: test, date: 2026-06-30}
modules:
  - {name: rdimm_32, kind: dram, size: 32G, slot: dimm,
     price: {value: 1, unit: USD/GB, source: test, date: 2026-06-30},
     watts: {value: 4, unit: W/module, source: test, date: 2026-06-30}}
  - {name: cxl_64, kind: scm, size: 64G, slot: cxl, device: cxl,
     price: {value: 0.6, unit: DRAM/GB, source: test, date: 2026-06-30},
     watts: {value: 10, unit: W/module, source: test, date: 2026-06-30}}
  - {name: pmem_64, kind: scm, size: 64G, slot: dimm, device: optane100,
     price: {value: 0.3, unit: DRAM/GB, source: test, date: 2026-06-30},
     watts: {value: 10, unit: W/module, source: test, date: 2026-06-30},
     endurance: {value: 10, unit: PB/module, source: test, date: 2026-06-30}}
  - {name: nvme_2T, kind: flash, size: 2T, slot: nvme, device: nvme_flash,
     price: {value: 0.02, unit: USD/GB, source: test, date: 2026-06-30},
     watts: {value: 10, unit: W/module, source: test, date: 2026-06-30}}
energy: {value: 0.01, unit: USD/kWh, source: test, date: 2026-06-30}
pue: {value: 1, unit: ratio, source: test, date: 2026-06-30}
amortisation: {value: 4, unit: years, source: test, date: 2026-06-30}
qualification: {value: 100, unit: USD/SKU, source: test, date: 2026-06-30}
)";
}

}  // namespace mezz::plan
