// What a pod holds, as its annotations say it.
#include <algorithm>

#include "aliquot/codec/pod_devices.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const Result<codec::ContainerShares> parsed = codec::ParsePodDevices(text);
  if (!parsed) {
    fuzz::RequireMessage(parsed.error());
    return 0;
  }
  codec::ContainerShares whole = *parsed;
  const Result<codec::ContainerShares> again =
      codec::ParsePodDevices(codec::FormatPodDevices(whole));
  whole.emplace_back();  // behind the last semicolon
  fuzz::Require(again.ok() && *again == whole, "it is read as it is written");
  const auto count = [](const codec::ContainerShares& containers) {
    size_t shares = 0;
    for (const auto& container : containers) shares += container.size();
    return shares;
  };
  for (const std::vector<bool>& asks :
       {std::vector<bool>{}, {true}, {false, true}, {true, false, true}}) {
    const codec::AlignedShares aligned = codec::AlignContainers(*parsed, asks);
    fuzz::Require(aligned.containers.size() >= asks.size(), "every container has a list");
    fuzz::Require(count(aligned.containers) == count(*parsed), "no share is lost");
  }
  return 0;
}
