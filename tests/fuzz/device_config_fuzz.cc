// The device configuration file.
#include "aliquot/config/device_config.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const Result<config::DeviceConfig> parsed = config::ParseDeviceConfig(text, "fuzz.yaml");
  if (!parsed) {
    fuzz::RequireMessage(parsed.error());
    return 0;
  }
  // Compared as text: bytes that are not UTF-8 are written as U+FFFD.
  const std::string written = config::DeviceConfigYaml(*parsed);
  const Result<config::DeviceConfig> again = config::ParseDeviceConfig(written, "fuzz.yaml");
  fuzz::Require(again.ok() && config::DeviceConfigYaml(*again) == written,
                "it is read as it is written");
  return 0;
}
