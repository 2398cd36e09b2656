"""weft store status, scrub, verify, drain and replace: what operators see of a store of real servers, and do to it."""

import pathlib
import sys
import tempfile

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
        self.assertIn("groups    256: 256 with all copies\n", self.text())
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

    def test_a_single_copy_does_not_wait_for_the_delay(self):
        self.begin_store("--set", "store.recover=1h")
        self.fill(20)
        self.good("kill", 4)
        self.until_store(lambda store: store["groups"]["short"], "groups without a copy")
        self.good("kill", 5)
        store = self.until_store(lambda store: store["members"] == 7 and store["groups"]["single"] == 0 and
                                 store["groups"]["whole"] + store["groups"]["short"] == 256, "no single copies")
        self.assertGreater(store["groups"]["short"], 0)  # those wait
        self.assertEqual(store["groups"]["refusing"], 0)
        for key in range(20):
            self.good("put", f"key {key}", "again")

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


class Damage(OperateCase):
    def damage(self, value, count):
        """Changes the middle of the value in the files of so many servers; returns how many records that were."""
        found = 0
        for path in sorted(pathlib.Path(f"{self.folder}.data").rglob("*.log")):
            with open(path, "r+b") as file:
                content = file.read()
                at = content.find(value)
                if at < 0 or found == count:
                    continue
                self.assertEqual(content.count(value), 1)
                at += len(value) // 2
                file.seek(at)
                file.write(bytes([content[at] ^ 1]))
                found += 1
        self.assertEqual(found, count)

    def scrub(self, what, code):
        run = self.run_weft("store", *what, "--json")
        self.assertEqual((run.code, run.err), (code, ""), run.out)
        self.assertTrue(run.json["ended"])
        self.assertEqual((run.json["checked"], run.json["not_checked"]), (9, []))
        return run.json

    def test_damaged_records_are_reported_and_repaired(self):
        self.begin_store()
        self.fill(30)
        for key in ("red", "green"):
            self.good("put", key, f"the whole value of {key}" * 20)
        whole = self.scrub(["verify"], 0)
        self.assertEqual((whole["damaged"], whole["differing"], whole["skipped"]), (0, 0, 0))
        self.assertGreaterEqual(whole["records"], 3 * 32)
        self.damage(b"the whole value of red" * 20, 2)
        self.damage(b"the whole value of green" * 20, 1)
        bad = self.scrub(["verify"], 1)
        self.assertEqual((bad["damaged"], bad["open"], bad["mended"]), (3, 3, 0))
        self.assertIn("STORE_DAMAGED", [reason["code"] for reason in self.store()["reasons"]])
        good = self.scrub(["scrub", "--wait"], 0)
        self.assertEqual((good["damaged"], good["mended"], good["open"], good["lost"]), (3, 3, 0, 0))
        store = self.store()
        self.assertEqual((store["health"], store["scrub"]["mended"]), ("OK", 3))
        self.assertEqual(sum(node["failures"] for node in store["nodes"]), 0)
        self.assertEqual(self.scrub(["verify"], 0)["damaged"], 0)
        for server in range(9):
            for key in ("red", "green"):
                self.assertEqual(self.good("get", key, "--from", server).out, f"the whole value of {key}" * 20)

    def test_a_read_repairs_what_it_finds(self):
        self.begin_store()
        value = "read me soon, before I am old" * 10
        self.good("put", "key", value)
        self.damage(value.encode(), 2)
        self.assertEqual(self.good("get", "key").out, value)
        self.assertEqual(sum(node["failures"] for node in self.store()["nodes"]), 0)
        self.scrub(["scrub", "--wait"], 0)
        self.assertEqual(self.scrub(["verify"], 0)["damaged"], 0)

    def test_what_all_copies_have_lost_is_never_not_found(self):
        self.begin_store()
        value = "no server can read this any more" * 10
        self.good("put", "key", value)
        self.good("put", "other", "whole")
        self.damage(value.encode(), 3)
        lost = self.scrub(["scrub", "--wait"], 1)
        self.assertEqual((lost["damaged"], lost["open"], lost["mended"]), (3, 3, 0))
        self.refused("get", "key", "--timeout", "2", says="no answer until the deadline|too few servers")
        self.assertEqual(self.good("get", "other").out, "whole")
        self.good("put", "key", "new")
        self.assertEqual(self.good("get", "key").out, "new")
        self.assertEqual(self.scrub(["verify"], 0)["damaged"], 0)

    def test_a_server_that_is_away_is_not_checked(self):
        self.begin_store()
        self.good("kill", 5)
        for words in ("verify",), ("scrub", "--wait"), ("scrub",):
            run = self.run_weft("store", *words, "--json")
            self.assertEqual((run.code, run.json["not_checked"]), (1, [5]))


class Drain(OperateCase):
    def held(self, server):
        return next(node["groups_held"] for node in self.store()["nodes"] if node["id"] == server)

    def test_a_drained_server_can_end_and_nothing_is_missing(self):
        self.begin_store("--set", "store.recover=1h")
        self.fill(40)
        self.assertGreater(self.held(4), 0)
        drained = self.good("store", "drain", 4, "--wait", "--json").json
        self.assertEqual(drained, {"server": 4, "groups": 0, "keeps": False})
        self.assertEqual(self.held(4), 0)
        self.assertEqual((self.store()["groups"]["whole"], self.store()["released"]), (256, [4]))
        self.assertEqual(self.good("get", "key 3", "--from", 4).out, "value of 3")
        self.good("kill", 4)
        store = self.store("--wait", PATIENCE)
        self.assertEqual((store["health"], store["silent"], store["released"]), ("OK", [4], [4]))
        for key in range(40):
            self.assertEqual(self.good("get", f"key {key}").out, f"value of {key}")
        self.good("revive", 4)
        self.until(lambda: len(self.store()["nodes"]) == 9 and self.store("--wait", PATIENCE)["members"] == 9, "a member")
        self.assertEqual(self.held(4), 0)
        self.assertTrue(self.good("store", "drain", 4, "--undo", "--wait", "--json").json["keeps"])
        store = self.store("--wait", PATIENCE)
        self.assertEqual((store["released"], store["groups"]["whole"]), ([], 256))
        self.until(lambda: self.held(4) > 0, "groups on server 4 again")

    def test_two_servers_are_drained_while_values_change(self):
        self.begin_store()
        for turn, server in enumerate((1, 7)):
            self.good("store", "drain", server)
            for key in range(30):
                self.good("put", f"key {key}", f"turn {turn}")
        for server in 1, 7:
            self.good("store", "drain", server, "--wait")
        for server in 1, 7:
            self.assertEqual(self.held(server), 0)
            self.good("kill", server)
        self.assertEqual(self.store("--wait", PATIENCE)["health"], "OK")
        for key in range(30):
            self.assertEqual(self.good("get", f"key {key}").out, "turn 1")

    def test_what_cannot_be_ordered_is_refused(self):
        self.up("torus:3", "--service", "store")
        self.store("--wait", PATIENCE)
        self.refused("store", "drain", 1, code=1, says="too few other servers")
        self.refused("store", "replace", 1, code=1, says="takes part in the store; weft store drain")
        self.refused("store", "drain", 3, code=2, says="3")
        self.assertEqual(self.store()["health"], "OK")


class Replace(OperateCase):
    def test_others_stand_in_at_once_for_a_server_that_is_replaced(self):
        self.begin_store("--set", "store.recover=1h")
        self.fill(40)
        self.good("kill", 4)
        self.until_store(lambda store: store["groups"]["short"], "groups without a copy")
        done = self.good("store", "replace", 4, "--wait", "--json").json
        self.assertEqual((done["server"], done["unavailable"]), (4, 0))
        store = self.store("--wait", PATIENCE)
        self.assertEqual((store["health"], store["groups"]["whole"], store["released"]), ("OK", 256, [4]))
        self.good("revive", 4)
        store = self.until_store(lambda store: store["members"] == 9 and not store["released"], "the server again")
        self.assertEqual(self.store("--wait", PATIENCE)["health"], "OK")
        for key in range(40):
            self.assertEqual(self.good("get", f"key {key}").out, f"value of {key}")

    def test_what_only_a_lost_server_has_is_given_up_only_by_order(self):
        """Two copies. One server is away when the other one writes alone; then that one is lost."""
        self.up("torus:5", "--service", "store", "--set", "store.copies=2", "--set", "store.least=1", "--set",
                "store.group_count=1", "--set", "store.recover_rate=4K")
        store = self.store("--wait", PATIENCE)
        first, second = (node["id"] for node in store["nodes"] if node["groups_held"])
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"large" * 12000)
            file.flush()
            for key in range(10):  # so another server needs minutes to learn them
                self.good("put", f"key {key}", "--file", file.name)
        self.good("kill", first)
        self.good("put", "new", "value", "--timeout", PATIENCE)
        self.good("kill", second)
        self.good("revive", first)
        store = self.until_store(lambda store: any(one["reason"] == "away" for one in store["unavailable"]), "waits")
        self.assertEqual([(one["group"], one["server"]) for one in store["unavailable"]], [(0, second)])
        self.assertEqual(store["health"], "ERR")
        self.refused("get", "key 3", "--timeout", "1", says="no answer until the deadline|too few servers")
        self.assertEqual(self.good("store", "replace", second, "--json").json["unavailable"], 1)
        self.refused("get", "key 3", "--timeout", "1", says="no answer until the deadline|too few servers")
        run = self.run_weft("store", "replace", second, "--lost")
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("warning: what was written last into 1 groups is lost", run.err)
        self.assertEqual(self.good("get", "key 3", "--timeout", PATIENCE).out, "large" * 12000)
        self.refused("get", "new", "--timeout", PATIENCE, says="there is no such key")


main()
