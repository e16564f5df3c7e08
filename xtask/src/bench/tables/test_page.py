"""python -m unittest test_page"""

import json
import unittest

from page import METHODS, OURS, Page, latest

WHOLE = [90, 80, 70, 60, 50, 95, 99]


def runs(table, seed, accuracies, share=0.5):
    """A line for each method; accuracies in percent, none for a failed run."""
    text = ""
    for method, accuracy in zip(METHODS, accuracies):
        line = {"table": table, "share": share, "seed": seed, "method": method, "made_by": "v1", "train": 70, "test": 30,
                "labelled": 9, "observed": 1}
        line |= {"error": "ValueError: too few\nmore"} if accuracy is None else {"accuracy": accuracy / 100}
        if method == OURS:
            line |= {"prior_error": 0.25, "trust": {"estimate": 0.95, "held": seed == 1, "near": True, "above_one": 0, "clipped": 2,
                     "classes": 3, "silent": 1, "reached": 1, "more": 1, "same": True}}
        text += json.dumps(line) + "\n"
    return text


def absent(table):
    return json.dumps({"table": table, "share": 0.5, "seed": 1, "method": "table", "error": "no folder"}) + "\n"


class Pages(unittest.TestCase):
    def check(self, text, has, has_not=(), shares=(0.5,)):
        page = Page(latest(text), ["wine", "iris", "waveform"], shares, [1, 2]).text("a machine")
        for part in has:
            self.assertIn(part, page)
        for part in has_not:
            self.assertNotIn(part, page)

    def test_means_bold_counts_and_losses_by_hand(self):
        text = runs("wine", 1, WHOLE) + runs("wine", 2, [80, 84, 70, 60, 50, 95, 99])
        text += runs("iris", 1, [70, 80, 81, 60, 50, 88, 90]) + runs("iris", 2, [70, 80, 83, 60, 50, 88, 90])
        self.check(text + runs("unasked", 1, WHOLE), [
            "2 tables of\n100 to 100 rows, labelled shares 0.5, seeds 1, 2; 28 runs",
            "| wine | 70 | 9 | 1 | **85.0** | 82.0 | 70.0 | 60.0 | 50.0 | 95.0 | 99.0 |",
            "| iris | 70 | 9 | 1 | 70.0 | 80.0 | **82.0** | 60.0 | 50.0 | 88.0 | 90.0 |",
            "| mpu-cli, default | 77.5 | – | – | – | 0.250 | – |",
            "best in 1 of 2 cases. On average it is -3.5 points from the best single peer (RF, Elkan–Noto, multi-class) and -17.0"
            " from the limit; the reference, which has labelled unknown rows, is -3.0 from it.",
            "- iris, 50 % labelled: 12.0 points below RF, Elkan–Noto, one-vs-rest",
            "| iris | 70.0 | 95.0 | 25.0 | 1 of 2 | 2 of 2 | 0 and 4 | 0.250 | 2 of 4 | 2 | 2 | 2 of 2 |",
            "| all | 77.5 | 95.0 | 17.5 | 2 of 4 | 4 of 4 | 0 and 8 |",
        ], ["Not measured", "- wine", "unasked", "Summary"])

    def test_shares_are_summed_up_with_and_without_the_smallest(self):
        ours = {0.5: 90, 0.2: 86, 0.05: 70}
        text = "".join(runs("wine", seed, [value, *WHOLE[1:]], share) for share, value in ours.items() for seed in [1, 2])
        self.check(text, [
            "## Summary: 50 and 20 % labelled\n\n| mean |",
            "| mpu-cli, default | 88.0 |",
            "## Summary: 50, 20 and 5 % labelled\n\n| mean |",
            "| mpu-cli, default | 82.0 |",
            "| 50 and 20 % labelled | 88.0 | 95.0 | 7.0 | 2 of 4 |",
        ], ["| 50, 20 and 5 % labelled"], tuple(ours))

    def test_a_failed_run_is_shown_and_left_out_of_the_means_of_all(self):
        broken = [90, 80, None, 60, 50, 95, 99]
        text = runs("wine", 1, WHOLE) + runs("wine", 2, WHOLE) + runs("iris", 1, WHOLE) + runs("iris", 2, broken)
        self.check(text, [
            "| iris | 70 | 9 | 1 | **90.0** | 80.0 | – | 60.0 |",
            "Means are over the 1 cases",
            "- iris, 50 % labelled, seed 2, rf-en-ovr: ValueError: too few\n",
        ])

    def test_our_own_failure_is_no_win(self):
        broken = [None, *WHOLE[1:]]
        self.check(runs("wine", 1, broken) + runs("wine", 2, broken), ["best in 0 of 1 cases", "| – | **80.0** |", "| all | – |"])

    def test_the_last_line_of_a_run_counts_and_a_missing_table_is_noted(self):
        text = absent("wine") + absent("waveform") + runs("wine", 1, [None] * 7) + runs("wine", 1, WHOLE)
        self.check(text + runs("wine", 2, WHOLE), [
            "| wine | 70 | 9 | 1 | **90.0** |",
            "- waveform, 50 % labelled, seed 1, table: no folder",
        ], ["- wine"])


if __name__ == "__main__":
    unittest.main()
