"""Which rows count as unlabelled."""

import numpy as np
import pytest

from mpulearn import MPUClassifier
from mpulearn._labels import Labels


def test_marks_by_type():
    assert Labels([1, -1, 2]).codes.tolist() == [0, -1, 1]
    assert Labels([1, -1, 2]).marker == -1
    assert Labels(["a", "", "b"]).codes.tolist() == [0, -1, 1]
    assert Labels(np.array(["a", None, "b"], dtype=object)).codes.tolist() == [0, -1, 1]
    assert Labels(["a", float("nan"), "b"]).codes.tolist() == [0, -1, 1]
    assert Labels(np.array(["a", np.nan, ""], dtype=object)).codes.tolist() == [0, -1, -1]
    assert Labels(np.array([3.0, np.nan, 5.0])).codes.tolist() == [0, -1, 1]
    assert Labels(np.array([3.0, np.nan, 5.0])).names() == ["3", "5"]
    assert Labels(np.array([True, None], dtype=object)).codes.tolist() == [0, -1]
    assert Labels([0, 1, 2], unlabeled=0).codes.tolist() == [-1, 0, 1]
    assert Labels(["a", "?", "b"], unlabeled="?").codes.tolist() == [0, -1, 1]
    assert Labels([0, -1, 2], unlabeled=[0, -1]).codes.tolist() == [-1, -1, 0]
    assert Labels([0, -1, 2], unlabeled=None).codes.tolist() == [1, 0, 2], "-1 is a class where None is the mark"


def test_doubtful_marks_are_refused():
    with pytest.raises(ValueError, match="both by -1 and by NaN"):
        Labels(np.array([-1.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="only 0 marks"):
        Labels(np.array([0, None, 2], dtype=object), unlabeled=0)
    with pytest.raises(ValueError, match="continuous"):
        Labels([0.5, 1.25, -1])
    with pytest.raises(ValueError, match="every row of y is marked"):
        MPUClassifier().fit([[1.0], [2.0]], [-1, -1])


@pytest.mark.parametrize("kind", ["str", "object", "float", "bool", "numbered"])
def test_answers_are_of_the_labels_type(rows, kind):
    X, y, _ = rows
    texts = np.where(y == 1, "b", np.where(y == 2, "c", ""))
    labels, classes = {
        "str": (texts, ["b", "c", "unknown"]),
        "object": (np.where(texts == "", None, texts.astype(object)), ["b", "c", "unknown"]),
        "float": (y.astype(float), [-1.0, 1.0, 2.0]),
        "bool": (np.where(y == 1, True, None), [True, "unknown"]),
        "numbered": (np.where(y == 1, "10", np.where(y == 2, "9", "")), ["10", "9", "unknown"]),
    }[kind]
    model = MPUClassifier(model="forest", trees=10).fit(X, labels)
    assert sorted(model.classes_.tolist(), key=str) == sorted(classes, key=str)
    answers = model.predict(X)
    assert set(answers.tolist()) <= set(classes)
    marked = labels == labels[np.flatnonzero(y == 1)[0]]
    first = labels[np.flatnonzero(y == 1)[0]]
    assert np.mean(answers[marked] == first) > 0.8, "each answer has the name of its own class"
    place = model.classes_.tolist().index(first)
    assert model.predict_proba(X)[marked, place].mean() > 0.6


def test_labels_that_read_alike_are_refused(rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match="reads as a missing value"):
        MPUClassifier(model="forest").fit(X, np.where(y == 1, "NA", np.where(y == 2, "b", "")))


def test_unknown_label(rows):
    X, y, truth = rows
    model = MPUClassifier(model="forest", trees=10, unknown_label=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, truth) > 0.9
