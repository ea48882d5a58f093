#include "cli/demo_objects.h"

#include <vector>

#include "aliquot/codec/node_devices.h"

namespace aliquot::cli {
namespace {

// What a node's device plugin and kubelet would have written.
std::string NodeYaml(const std::string& name, const std::string& type, int64_t memory_mib) {
  constexpr int kCards = 4;
  constexpr int kSharesPerCard = 10;
  std::vector<codec::NodeDevice> cards(kCards);
  for (uint32_t i = 0; i < kCards; ++i) {
    core::Device& card = cards[i].device;
    card.id = "GPU-" + name + "-" + std::to_string(i);
    card.type = type;
    card.mode = "hami-core";
    card.index = i;
    card.slots = kSharesPerCard;
    card.memory = memory_mib;
    card.cores = 100;
    card.numa = i / 2;
    card.healthy = true;
  }
  return R"(apiVersion: v1
kind: Node
metadata:
  name: )" +
         name + R"(
  annotations:
    hami.io/node-nvidia-register: ')" +
         codec::FormatNodeDevicesJson(cards) + R"('
status:
  allocatable: {cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: ")" +
         std::to_string(kCards * kSharesPerCard) + R"("}
)";
}

}  // namespace

std::string DemoDeviceConfig() {
  return R"(nvidia:
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  resourceMemoryPercentageName: nvidia.com/gpumem-percentage
  resourceCoreName: nvidia.com/gpucores
  memoryFactor: 1
  defaultGPUNum: 1
)";
}

std::string DemoNodes() {
  return NodeYaml("a100-1", "NVIDIA A100-SXM4-40GB", 40960) + "---\n" +
         NodeYaml("a100-2", "NVIDIA A100-SXM4-40GB", 40960) + "---\n" +
         NodeYaml("h100-1", "NVIDIA H100-SXM5-80GB", 81920);
}

std::string DemoPods() {
  return R"(apiVersion: v1
kind: Pod
metadata: {name: whole-card}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1}}}
---
apiVersion: v1
kind: Pod
metadata: {name: small-share}
spec:
  containers:
  - name: main
    image: demo
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000, nvidia.com/gpucores: 20}}
---
apiVersion: v1
kind: Pod
metadata: {name: half-a-card}
spec:
  containers:
  - name: main
    image: demo
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50}}
---
apiVersion: v1
kind: Pod
metadata: {name: two-cards}
spec:
  containers:
  - name: main
    image: demo
    resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 10000, nvidia.com/gpucores: 50}}
---
apiVersion: v1
kind: Pod
metadata: {name: two-containers}
spec:
  containers:
  - {name: serve, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 12000}}}
  - {name: embed, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4000}}}
---
# Its init container is done before the other starts: the larger of both counts.
apiVersion: v1
kind: Pod
metadata: {name: with-init}
spec:
  initContainers:
  - {name: warm, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 20000}}}
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 6000}}}
---
# A sidecar lives as long as the pod: both count.
apiVersion: v1
kind: Pod
metadata: {name: with-sidecar}
spec:
  initContainers:
  - name: proxy
    image: demo
    restartPolicy: Always
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 2000}}
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 16000}}}
---
# Without a count it is one card.
apiVersion: v1
kind: Pod
metadata: {name: memory-only}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpumem: 3000}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: h100-only
  annotations: {nvidia.com/use-gputype: H100}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 60000}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: spread-out
  annotations: {hami.io/node-scheduler-policy: spread}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 8000}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: packed
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  containers:
  - name: main
    image: demo
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4000, nvidia.com/gpucores: 10}}
---
apiVersion: v1
kind: Pod
metadata: {name: all-cores}
spec:
  containers:
  - name: main
    image: demo
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 2000, nvidia.com/gpucores: 100}}
---
apiVersion: v1
kind: Pod
metadata: {name: four-cards}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 4, nvidia.com/gpumem: 30000}}}
---
# No card is that large.
apiVersion: v1
kind: Pod
metadata: {name: too-large}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 90000}}}
---
# Where it may run there is no room left.
apiVersion: v1
kind: Pod
metadata:
  name: not-h100
  annotations: {nvidia.com/nouse-gputype: H100}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 16000}}}
---
# The unit is MiB: this would be 16 million GiB.
apiVersion: v1
kind: Pod
metadata: {name: typo}
spec:
  containers:
  - {name: main, image: demo, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 16Gi}}}
)";
}

}  // namespace aliquot::cli
