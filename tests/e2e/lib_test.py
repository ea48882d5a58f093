#!/usr/bin/env python3
"""The checks of the end-to-end tests can fail: each finds the fault it is there for."""
import copy
import json
import random
import time
import unittest

import lib

NODES = [lib.make_node("n1"), lib.make_node("n2")]


def placed(**annotations):
    """A pod as it is when everything went well: 3000 MiB and 30 cores of one card of n1."""
    pod = lib.make_pod("p", {"gpu": 1, "gpumem": "3k", "gpucores": 30})
    now = str(int(time.time()))
    pod["metadata"]["labels"] = {lib.NODE: "n1"}
    pod["metadata"]["annotations"] = {
        lib.NODE: "n1", lib.ALLOCATED: "n1-g0,NVIDIA,3000,30:;", lib.TO_ALLOCATE: "n1-g0,NVIDIA,3000,30:;",
        lib.PHASE: "success", "hami.io/vgpu-time": now, "hami.io/bind-time": now, **annotations}
    pod["spec"]["nodeName"] = "n1"
    pod["status"] = {"phase": "Running"}
    return pod


class Checks(unittest.TestCase):

    def test_a_pod_placed_as_asked_is_fine(self):
        self.assertEqual(lib.misplaced(placed(), NODES), [])

    def test_an_unbound_pod_is_told_with_its_condition(self):
        pod = placed()
        del pod["spec"]["nodeName"]
        pod["status"]["conditions"] = [{"reason": "Unschedulable", "message": "no room"}]
        self.assertIn("no room", lib.misplaced(pod, NODES)[0])

    def test_every_wrong_annotation_is_told(self):
        both = lambda text: {lib.ALLOCATED: text, lib.TO_ALLOCATE: text}
        for wrong in ({lib.NODE: "n2"}, {lib.PHASE: "allocating"}, {"hami.io/vgpu-time": "1"},
                      {"hami.io/bind-time": ""}, {lib.TO_ALLOCATE: ";"}, both("n1-g0,NVIDIA,2999,30:;"),
                      both("n1-g0,NVIDIA,3000,31:;"), both("n1-g0,NVIDIA A100,3000,30:;"),
                      both("n2-g0,NVIDIA,3000,30:;"), both("n1-g0,NVIDIA,3000:;"), both(""),
                      both("n1-g0,NVIDIA,3000,30:;;"), both("n1-g0,NVIDIA,3000,30:n1-g1,NVIDIA,3000,30:;")):
            with self.subTest(wrong=wrong):
                self.assertNotEqual(lib.misplaced(placed(**wrong), NODES), [])

    def test_one_card_twice_in_a_container_is_told(self):
        twice = "n1-g0,NVIDIA,100,0:n1-g0,NVIDIA,100,0:;"
        pod = placed(**{lib.ALLOCATED: twice, lib.TO_ALLOCATE: twice})
        pod["spec"] = {**lib.make_pod("p", {"gpu": 2, "gpumem": 100})["spec"], "nodeName": "n1"}
        self.assertIn("container 0 got cards", lib.misplaced(pod, NODES)[0])

    def test_over_commitment_is_seen_in_each_dimension(self):
        for text in ("n1-g0,NVIDIA,40961,0:;", "n1-g0,NVIDIA,1,101:;", "n1-g0,NVIDIA,1,0:;" * 11):
            with self.subTest(text=text):
                self.assertEqual(len(lib.overcommitted([placed(**{lib.ALLOCATED: text})])), 1)
        self.assertEqual(lib.overcommitted([placed(**{lib.ALLOCATED: "n1-g0,NVIDIA,40960,100:;"})]), [])

    def test_pods_that_ended_hold_nothing(self):
        pod = placed()
        pod["status"]["phase"] = "Succeeded"
        self.assertEqual(lib.usage([pod, placed()]), {"n1-g0": (1, 3000, 30)})

    def test_a_second_node_and_a_changed_allocation_are_noted(self):
        for change in (lambda p: p["spec"].update(nodeName="n2"),
                       lambda p: p["metadata"]["annotations"].update({lib.ALLOCATED: ";"})):
            recorder = lib.Recorder(api=None)
            pod = placed()
            pod["metadata"]["uid"] = "u1"
            recorder.note(pod)
            recorder.note(copy.deepcopy(pod))
            self.assertEqual(recorder.problems, [])
            change(pod)
            recorder.note(pod)
            self.assertEqual(len(recorder.problems), 1)

    def test_a_seed_gives_the_same_pods(self):
        def draw():
            rng = random.Random(7)
            return json.dumps([lib.random_pod(f"p{i}", rng) for i in range(20)])
        self.assertEqual(draw(), draw())


if __name__ == "__main__":
    unittest.main()
