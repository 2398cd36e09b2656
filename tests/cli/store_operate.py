"""weft store status: what operators see of a store of real servers."""

import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main


class OperateCase(ClusterCase):
    def begin_store(self, *words):
        self.up("torus:3x3", "--service", "store", "--set", "store.segment=1M", *words)
        return self.store("--wait", PATIENCE)

    def store(self, *words):
        """The state of the store; the exit code must match the verdict."""
        run = self.run_weft("store", "status", "--json", *words)
        self.assertEqual(run.err, "")
        self.assertEqual(run.code, 0 if run.json["health"] == "OK" else 1)
        return run.json

    def text(self):
        return self.run_weft("store", "status").out

    def until_store(self, condition, what):
        """Waits until the store's state is so, and returns it."""
        found = []
        self.until(lambda: condition(found.append(self.store()) or found[-1]), what)
        return found[-1]

    def fill(self, count):
        for key in range(count):
            self.good("put", f"key {key}", f"value of {key}")


class Status(OperateCase):
    def test_a_healthy_store_is_ok(self):
        store = self.begin_store()
        self.assertEqual((store["health"], store["reasons"]), ("OK", []))
        self.fill(10)
        store = self.store()
        self.assertEqual((store["members"], store["servers"], store["missing"], store["silent"]), (9, 9, [], []))
        groups = store["groups"]
        self.assertEqual((groups["all"], groups["whole"], groups["unknown"]), (256, 256, 0))
        self.assertEqual((store["records"], store["recovery"]["copies_missing"]), (10, 0))
        self.assertEqual(len(store["nodes"]), 9)
        self.assertEqual(sum(node["groups_held"] for node in store["nodes"]), 3 * 256)
        self.assertEqual(sum(node["groups_led"] for node in store["nodes"]), 256)
        self.assertGreater(store["live_bytes"], 0)
        self.assertGreaterEqual(store["disk_bytes"], store["live_bytes"])
        for server in range(9):
            self.assertEqual(self.store("--from", server)["groups"], groups)
        self.assertIn("groups    256: 256 with all 3 copies\n", self.text())
        self.assertEqual(self.codes(self.status()), set())

    def test_copies_of_a_dead_server_are_missing_until_others_stand_in(self):
        self.begin_store("--set", "store.recover=1h")
        self.fill(40)
        self.good("kill", 4)
        store = self.until_store(lambda store: store["groups"]["short"] and
                                 store["groups"]["whole"] + store["groups"]["short"] == 256,
                                 "groups without a copy")
        self.assertEqual(store["silent"], [4])
        self.assertEqual({reason["code"] for reason in store["reasons"]}, {"STORE_SHORT", "STORE_MEMBERS"})
        groups, recovery = store["groups"], store["recovery"]
        self.assertEqual(groups["whole"] + groups["short"], 256)
        self.assertEqual((groups["single"], groups["unavailable"]), (0, 0))
        self.assertEqual(recovery["copies_missing"], groups["short"])
        self.assertEqual((recovery["copies_delayed"], recovery["copies_learning"]), (groups["short"], 0))
        self.assertGreater(recovery["begins_in"], 3000)
        self.assertIsNone(recovery["seconds_left"])
        self.assertGreater(recovery["records_missing"], 0)
        status = self.status()
        self.assertEqual(self.codes(status), {"SERVERS_DOWN", "STORE_SHORT", "STORE_MEMBERS"})
        text = next(reason["text"] for reason in status["reasons"] if reason["code"] == "STORE_SHORT")
        self.assertRegex(text, r"^\d+ copies of groups are missing; about .* to recover, which begins in \d+ s")
        self.good("revive", 4)
        self.assertEqual(self.store("--wait", PATIENCE)["health"], "OK")
        self.well()

    def test_after_the_delay_others_have_made_the_copies(self):
        self.begin_store("--set", "store.recover=1s")
        self.fill(40)
        self.good("kill", 4)
        store = self.until_store(lambda store: store["groups"]["whole"] == 256, "all copies again")
        self.assertEqual([reason["code"] for reason in store["reasons"]], ["STORE_MEMBERS"])
        self.assertEqual(store["recovery"]["copies_missing"], 0)
        self.good("get", "key 7")

    def test_without_a_majority_the_store_is_not_available(self):
        self.begin_store()
        self.fill(5)
        for server in range(6):
            self.good("kill", server)
        store = self.until_store(lambda store: store["health"] == "ERR", "an error")
        self.assertIn("STORE_UNAVAILABLE", [reason["code"] for reason in store["reasons"]])
        self.assertLess(store["groups"]["whole"], 256)
        self.assertEqual(store["silent"], list(range(6)))
        self.assertIn("STORE_UNAVAILABLE", self.codes(self.status()))
        self.refused("store", "status", "--from", "2", code=1, says="2 .*is dead")

    def test_a_cluster_without_a_store_is_named(self):
        self.up("torus:3")
        self.refused("store", "status", code=1, says="runs no store; start it with: weft up SPEC --service store")
        self.assertEqual(self.codes(self.well()), set())
        self.down()
        self.refused("store", "status", code=2, says="no cluster here")


main()
