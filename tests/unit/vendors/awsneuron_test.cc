#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

TEST(AwsNeuronTest, ReadsDevicesOrCores) {
  const auto cores = [](const std::string& count) {
    return Wish("AWSNeuron", {{"aws.amazon.com/neuroncore", count}});
  };
  EXPECT_EQ(cores("1"), "1: 0, -, 1");
  EXPECT_EQ(cores("2"), "1: 0, -, 2");
  EXPECT_EQ(cores("6"), "3: 0, -, 2");
  EXPECT_EQ(cores("0"), "nothing");
  EXPECT_EQ(cores("3"), "3: aws.amazon.com/neuroncore must be 1 or a multiple of 2, got 3");
  EXPECT_EQ(cores("4294967296"),
            "4294967296: aws.amazon.com/neuroncore must not exceed 4294967294");
  EXPECT_EQ(Wish("AWSNeuron", {}, {{"aws.amazon.com/neuron", "2"}}), "2: 0, -, 0");
  EXPECT_EQ(Wish("AWSNeuron", {{"aws.amazon.com/neuron", "500m"}}),
            "500m: aws.amazon.com/neuron must be an integer");
}

Offer Devices(int count, int cores_each, const std::string& type) {
  return {.capacity = {{"aws.amazon.com/neuron", std::to_string(count)},
                       {"aws.amazon.com/neuroncore", std::to_string(count * cores_each)}},
          .labels = {{"node.kubernetes.io/instance-type", type}}};
}

PodWish Asking(const std::string& resource, const std::string& count) {
  return PodWish().AppWith({{"aws.amazon.com/" + resource, count}});
}

std::string Device(int i) { return "n-AWSNeuron-" + std::to_string(i); }

TEST(AwsNeuronTest, CoresAreTheLowestFreeBits) {
  core::NodeUsage node = Offered(Devices(1, 2, "inf2"));
  EXPECT_EQ(FitText(Asking("neuroncore", "1"), node), "n-AWSNeuron-0,AWSNeuron,0,1:;");
  EXPECT_EQ(FitText(Asking("neuron", "1"), node), "n-AWSNeuron-0,AWSNeuron,0,3:;");
  Use(node, "AWSNeuron", Device(0), {1, 0, 1});
  EXPECT_EQ(FitText(Asking("neuroncore", "1"), node), "n-AWSNeuron-0,AWSNeuron,0,2:;");
  EXPECT_EQ(FitText(Asking("neuroncore", "2"), node), "1/1 CardInsufficientCore");
  EXPECT_EQ(FitText(Asking("neuron", "1"), node), "1/1 CardInsufficientCore");
  Use(node, "AWSNeuron", Device(0), {1, 0, 2});
  EXPECT_EQ(FitText(Asking("neuroncore", "1"), node), "n-AWSNeuron-0,AWSNeuron,0,1:;");
}

TEST(AwsNeuronTest, SeveralDevicesAreNeighbours) {
  const auto first = [](const std::string& type, const std::string& count,
                        const std::vector<int>& used) {
    core::NodeUsage node = Offered(Devices(16, 2, type));
    for (const int i : used) Use(node, "AWSNeuron", Device(i), {2, 0, 3});
    const core::NodeFit fit = FitOn(Asking("neuron", count), node);
    return fit.refusal ? fit.refusal->ToString()
                       : fit.allocation.at(0).containers.at(0).front().device_id;
  };
  EXPECT_EQ(first("inf2.48xlarge", "16", {}), Device(0));
  EXPECT_EQ(first("trn1.32xlarge", "8", {7}), Device(8));
  EXPECT_EQ(first("trn1.32xlarge", "8", {7, 13}), "1/16 NumaNotFit");
  EXPECT_EQ(first("inf2.48xlarge", "8", {5, 14}), Device(6));
  EXPECT_EQ(first("trn1.32xlarge", "2", {}), "1/16 NumaNotFit");
}

TEST(AwsNeuronTest, ABlockOverQuotaIsTold) {
  std::vector<core::QuotaRoom> room(AllVendors().size());
  room[VendorOf("AWSNeuron").id()].cores = 3;
  const core::NodeUsage node = Offered(Devices(2, 2, "inf2"));
  EXPECT_EQ(ToText(FitOn(Asking("neuron", "2"), node, room)), "1/2 ResourceQuotaNotFit");
  room[VendorOf("AWSNeuron").id()].cores = 4;  // two devices of two cores
  EXPECT_EQ(FitOn(Asking("neuron", "2"), node, room).refusal, std::nullopt);
}

TEST(AwsNeuronTest, NamesDevicesOrCores) {
  const core::NodeUsage node = Offered(Devices(2, 4, "inf2"));
  StringMap written = Written(Asking("neuron", "2"), node);
  EXPECT_EQ(written["AWS_NEURON_IDS"], "0,1");
  EXPECT_FALSE(written.contains("NEURON_RESOURCE_TYPE"));
  // Core 1 of device 1 with four cores a device is core 4 * 1 + 1.
  core::NodeUsage used = node;
  Use(used, "AWSNeuron", Device(1), {1, 0, 1});
  Use(used, "AWSNeuron", Device(0), {4, 0, 15});
  written = Written(Asking("neuroncore", "1"), used);
  EXPECT_EQ(written["AWS_NEURON_IDS"], "5");
  EXPECT_EQ(written["NEURON_RESOURCE_TYPE"], "aws.amazon.com/neuroncore");
  EXPECT_EQ(written["aws.amazon.com/predicate-node"], "n");
}

}  // namespace
}  // namespace aliquot::testing
