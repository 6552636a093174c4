"""Tests of the second implementation of the rules: the expected results are computed by hand, on both sides of each
bound."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lab.implied import Ambiguous, RuleModel, implied  # noqa: E402
from lab.outcome import Life, ReceptionChange, Report  # noqa: E402
from lab.scenario import NONE, STAFF, Condition  # noqa: E402

BADGE = (STAFF, 1, 1)
SETTINGS = {"exit_timeout": 4.0, "deaf_after": 2.0, "outage_timeout": 6.0}
STAFF_ONLY = [Condition("staff")]


def steady(begin, end, adapter="hci0", beacon=BADGE, every=0.5):
    """Returns a report every `every` seconds, from `begin` until before `end`."""
    return [Report(begin + n * every, adapter, beacon) for n in range(int((end - begin) / every))]


def changes(*values):
    """Returns the changes of one adapter's reception, from pairs of a time and whether it receives from then on."""
    return [ReceptionChange(time, "hci0", receives) for time, receives in values]


def events_for(reports, reception, ending, conditions=None, settings=None):
    """Returns the implied events: subject → [(state, earliest, latest)]."""
    found = implied(conditions or STAFF_ONLY, settings or SETTINGS, sorted(reports, key=lambda each: each.time), reception, 0.0,
                    ending)
    return {subject: [(each.state, each.earliest, each.latest) for each in events] for subject, events in found.items()}


class Undisturbed(unittest.TestCase):
    reception = changes((0.0, True))
    noise = steady(0, 60, beacon=None)

    def test_a_condition_is_satisfied_at_the_first_report_and_exits_after_the_timeout(self):
        found = events_for(self.noise + steady(1, 3), self.reception, 60)
        self.assertEqual(found, {("staff", None): [("satisfied", 1, 1), ("unsatisfied", 6.5, 6.5)]})

    def test_a_gap_that_reaches_the_timeout_is_an_exit_and_a_shorter_one_is_not(self):
        two = [Report(1, "hci0", BADGE), Report(4.999, "hci0", BADGE)]
        self.assertEqual([state for state, _, _ in events_for(self.noise + two, self.reception, 8)["staff", None]], ["satisfied"])
        two = [Report(1, "hci0", BADGE), Report(5, "hci0", BADGE)]
        self.assertEqual([state for state, _, _ in events_for(self.noise + two, self.reception, 8)["staff", None]],
                         ["satisfied", "unsatisfied", "satisfied"])

    def test_an_absent_beacon_exits_after_one_timeout_of_scanning(self):
        found = events_for(self.noise, changes((3.0, True)), 20, [Condition("absent", NONE)])
        self.assertEqual(found["absent", None], [("unsatisfied", 7, 7)])

    def test_a_pause_between_two_scans_may_delay_an_exit_by_its_length(self):
        reception = changes((3.0, True), (4.1, False), (4.4, True))
        [(state, earliest, latest)] = events_for(self.noise, reception, 20, [Condition("absent", NONE)])["absent", None]
        self.assertEqual((state, earliest, round(latest, 6)), ("unsatisfied", 7, 7.3))
        # If the gap is longer than two reports may be apart, it is not such a pause.
        reception[-1] = ReceptionChange(5.4, "hci0", True)
        noise = [each for each in self.noise if not 4.1 < each.time < 5.4]
        [(state, earliest, latest)] = events_for(noise, reception, 20, [Condition("absent", NONE)])["absent", None]
        self.assertEqual((state, round(latest, 6)), ("unsatisfied", 8.4))

    def test_beacons_under_a_condition_have_their_own_events(self):
        other = (STAFF, 1, 2)
        found = events_for(self.noise + steady(1, 3) + steady(2, 5, beacon=other), self.reception, 60,
                           [Condition("staff", per_beacon=True)])
        self.assertEqual(found["staff", None], [("satisfied", 1, 1), ("unsatisfied", 8.5, 8.5)])
        self.assertEqual(found["staff", BADGE], [("satisfied", 1, 1), ("unsatisfied", 6.5, 6.5)])
        self.assertEqual(found["staff", other], [("satisfied", 2, 2), ("unsatisfied", 8.5, 8.5)])

    def test_an_event_that_is_due_near_the_end_is_optional(self):
        reports = sorted(self.noise + steady(1, 3), key=lambda each: each.time)
        found = implied(STAFF_ONLY, SETTINGS, reports, self.reception, 0.0, 6.7)["staff", None]
        self.assertEqual([each.optional for each in found], [False, True])
        self.assertEqual(len(implied(STAFF_ONLY, SETTINGS, reports, self.reception, 0.0, 6.4)["staff", None]), 1)


class Faults(unittest.TestCase):
    def test_a_short_outage_of_the_adapter_causes_no_exit(self):
        reception = changes((0.0, True), (10.0, False), (14.0, True))
        found = events_for(steady(1, 10) + steady(14, 20), reception, 19)
        self.assertEqual(found, {("staff", None): [("satisfied", 1, 1)]})

    def test_the_exit_of_a_beacon_that_leaves_during_an_outage_is_delayed_by_about_the_outage(self):
        reception = changes((0.0, True), (10.0, False), (14.0, True))
        found = events_for(steady(1, 10) + steady(14, 30, beacon=None), reception, 29)
        state, earliest, latest = found["staff", None][1]
        self.assertEqual(state, "unsatisfied")
        # The last report was at 9.5 s. If the gateway notices the stop at once, 0.5 s of the hold are used. Otherwise 2
        # s are used, until the adapter is deaf.
        self.assertEqual((earliest, latest), (14 + 4 - 2, 14 + 4 - 0.5))

    def test_after_a_long_outage_a_state_is_unknown_and_the_next_report_makes_it_satisfied(self):
        reception = changes((0.0, True), (10.0, False), (20.0, True))
        found = events_for(steady(1, 10) + steady(20.5, 30), reception, 29)["staff", None]
        self.assertEqual([state for state, _, _ in found], ["satisfied", "unknown", "satisfied"])
        self.assertEqual(found[1][1:], (15.5, 16))
        self.assertEqual(found[2][1:], (20.5, 20.5))

    def test_an_absent_beacon_also_becomes_unknown_after_a_long_outage_and_exits_again(self):
        reception = changes((0.0, True), (10.0, False), (20.0, True))
        found = events_for(steady(0, 10, beacon=None) + steady(20, 40, beacon=None), reception, 39, [Condition("absent", NONE)])
        self.assertEqual(found["absent", None], [("unsatisfied", 4, 4), ("unknown", 15.5, 16), ("unsatisfied", 24, 24)])

    def test_silence_of_all_advertisers_is_an_outage_and_causes_no_exit(self):
        # The controller scans all the time, but receives nothing from 10 s to 14 s.
        reception = changes((0.0, True))
        found = events_for(steady(1, 10) + steady(14, 20), reception, 19)
        self.assertEqual([state for state, _, _ in found["staff", None]], ["satisfied"])

    def test_a_second_adapter_causes_no_exit_of_a_beacon_that_only_the_first_one_held(self):
        reception = [ReceptionChange(0.0, "hci0", True), ReceptionChange(0.0, "hci1", True), ReceptionChange(5.0, "hci0", False)]
        noise = steady(0, 40, "hci1", None)
        found = events_for(noise + steady(1, 5), reception, 10)
        self.assertEqual([state for state, _, _ in found["staff", None]], ["satisfied"])
        # If no scanning adapter holds the beacon, it becomes unknown after outage_timeout, although the other adapter
        # continues to scan.
        found = events_for(noise + steady(1, 5), reception, 20)["staff", None]
        self.assertEqual([state for state, _, _ in found], ["satisfied", "unknown"])
        self.assertEqual(found[1][1:], (10.5, 11))

    def test_an_outage_that_may_or_may_not_reach_outage_timeout_is_an_error_of_the_scenario(self):
        # The outage lasts 6.2 s from the last report on, but 5.7 s from the end of the scan on.
        reception = changes((0.0, True), (10.0, False), (15.7, True))
        with self.assertRaises(Ambiguous):
            events_for(steady(1, 10) + steady(15.7, 20), reception, 19)


class Visits(unittest.TestCase):
    reception = changes((0.0, True))
    noise = steady(0, 60, beacon=None)

    def found(self, reports, reception, ending, **options):
        return implied(STAFF_ONLY, SETTINGS, sorted(reports, key=lambda each: each.time), reception, 0.0, ending,
                       **options)["staff", None]

    def test_an_exit_has_a_visit_from_the_first_report_to_the_last(self):
        entry, exited = self.found(self.noise + steady(1, 3), self.reception, 60)
        self.assertEqual((entry.seen, entry.visit), ((1, 1), None))
        self.assertEqual((exited.seen, exited.visit.arrival, exited.visit.departure, exited.visit.sightings),
                         ((2.5, 2.5), (1, 1), (2.5, 2.5), (4, 4)))

    def test_a_visit_continues_through_an_outage(self):
        reception = changes((0.0, True), (10.0, False), (20.0, True))
        noise = steady(0, 10, beacon=None) + steady(20, 40, beacon=None)
        events = self.found(noise + steady(1, 10) + steady(20, 22), reception, 39)
        self.assertEqual([each.state for each in events], ["satisfied", "unknown", "satisfied", "unsatisfied"])
        self.assertEqual([each.visit for each in events[:3]], [None] * 3)
        self.assertEqual((events[3].visit.arrival, events[3].visit.departure, events[3].visit.sightings),
                         ((1, 1), (21.5, 21.5), (22, 22)))

    def test_after_a_kill_the_last_sighting_and_the_count_may_be_those_of_the_entry(self):
        lives = [Life(0, 3.2, killed=True), Life(4.2, 60)]
        reception = [*self.reception, ReceptionChange(5.0, "hci0", True)]
        events = self.found(self.noise + steady(1, 3), reception, 59, lives=lives)
        self.assertEqual([(each.state, each.earliest) for each in events], [("satisfied", 1), ("unsatisfied", 9)])
        self.assertEqual((events[1].seen, events[1].visit.sightings), ((1, 2.5), (1, 4)))

    def test_a_restart_causes_no_event_and_restarts_the_exit_timeout(self):
        lives = [Life(0, 20), Life(50, 60)]
        reception = [*self.reception, ReceptionChange(51.0, "hci0", True)]
        events = self.found(self.noise + steady(1, 20), reception, 59, lives=lives)
        self.assertEqual([(each.state, each.earliest, each.latest) for each in events],
                         [("satisfied", 1, 1), ("unsatisfied", 55, 55)])

    def test_the_hold_of_an_absent_controller_does_not_end_while_another_one_scans(self):
        reception = [ReceptionChange(0.0, "A", True), ReceptionChange(0.0, "B", True), ReceptionChange(5.0, "A", False),
                     ReceptionChange(5.0, "B", False), ReceptionChange(6.0, "B", True)]
        reports = steady(1, 5, "A") + steady(0, 5, "B", None) + steady(6, 11, "B", None)
        self.assertEqual([each.state for each in self.found(reports, reception, 10)], ["satisfied"])

    def test_while_its_canary_is_silent_an_adapter_does_not_scan(self):
        canary = (NONE, 9, 9)
        received = steady(0, 6, beacon=canary) + steady(1, 30)
        events = self.found(received, self.reception, 29, canary=canary)
        self.assertEqual([each.state for each in events], ["satisfied", "unknown"])
        self.assertEqual((events[1].earliest, events[1].latest), (11.5, 11.5))
        events = self.found(received + steady(20, 30, beacon=canary), self.reception, 29, canary=canary)
        self.assertEqual([(each.state, each.earliest) for each in events],
                         [("satisfied", 1), ("unknown", 11.5), ("satisfied", 20)])


class Clocks(unittest.TestCase):
    def test_time_does_not_go_back(self):
        model = RuleModel(STAFF_ONLY, SETTINGS, 0.0)
        model.set_scanning("hci0", True, 1.0)
        model.sighted(BADGE, "hci0", 3.0)
        model.advance(2.0)
        self.assertEqual(model.now, 3.0)


if __name__ == "__main__":
    unittest.main()
