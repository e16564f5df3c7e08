"""The estimator as scikit-learn and its users meet it."""

import concurrent.futures
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from mpulearn import (
    MPUClassifier,
    MPUWarning,
    PUStratifiedKFold,
    check,
    estimate_priors,
    make_pu_scorer,
    pu_accuracy,
    pu_auc,
    pu_f1,
)


def forest(**params):
    return MPUClassifier(**{"model": "forest", "trees": 20, **params})


def test_scikit_learn_finds_no_fault():
    expected = {"check_classifiers_classes": "it takes -1 for a class, and -1 marks unlabelled rows"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            MPUClassifier(model="forest", trees=8), expected_failed_checks=expected, on_skip=None
        )
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(expected), "a check that passes is not expected to fail"
    assert sum(result["status"] == "passed" for result in results) >= 50


def test_default_fit(digits):
    X, y, truth = digits
    model = MPUClassifier(epochs=6).fit(X, y)
    assert model.classes_.tolist() == [-1, 0, 3, 8]
    assert model.score(X, truth) > 0.93
    assert model.n_features_in_ == 64 and not hasattr(model, "feature_names_in_")
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 4)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    answers = model.classes_[model.decision_function(X).argmax(1)]
    assert (answers == model.predict(X)).all()
    np.testing.assert_allclose(model.priors_.sum(), 1)
    low, high = model.prior_intervals_.T
    assert ((low <= model.priors_) & (model.priors_ <= high)).all()
    share = np.array([np.mean(truth[y == -1] == c) for c in (0, 3, 8)])
    assert np.abs(model.priors_[1:] - share).max() < 0.03
    assert "marked by -1" in repr(model)


def test_binary_problem_has_one_decision(rows):
    X, y, truth = rows
    model = forest().fit(X, np.where(y == 1, 1, -1))
    decision = model.decision_function(X)
    assert decision.shape == (len(X),)
    assert (np.where(decision > 0, 1, -1) == model.predict(X)).all()
    assert model.score(X, np.where(truth == 1, 1, 0)) > 0.9, "0 is no observed class, so it means -1"


def test_given_priors_scenario_and_costs(rows):
    X, y, _ = rows
    known = forest(priors={1: 0.25, 2: 0.25}, scenario="case-control").fit(X, y)
    np.testing.assert_allclose(known.priors_, [0.5, 0.25, 0.25])
    assert np.isnan(known.prior_intervals_).all()
    dear = forest(costs={-1: {-1: 0, 1: 1, 2: 1}, 1: {-1: 50, 1: 0, 2: 50}, 2: {-1: 1, 1: 1, 2: 0}}).fit(X, y)
    assert (dear.predict(X) == 1).sum() > (forest().fit(X, y).predict(X) == 1).sum()
    same = forest(costs=[[0, 1, 1], [50, 0, 50], [1, 1, 0]]).fit(X, y)
    assert (same.predict(X) == dear.predict(X)).all()
    assert (dear.classes_[dear.decision_function(X).argmax(1)] == dear.predict(X)).all()


def test_faults_are_told(rows):
    X, y, _ = rows
    for params, told in [
        ({"method": "csmpu"}, "csmpu-abs"),
        ({"model": "tree"}, "'forest'"),
        ({"scenario": "both"}, "case-control"),
        ({"priors": {1: 0.2}}, "no share for class `2`"),
        ({"priors": {1: 0.2, 2: 0.2, 7: 0.1}}, "`7`"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"validation_share": 0.9}, "0.5"),
        ({"unknown_label": 2}, "observed class"),
        ({"costs": [[0, 1], [1, 0]]}, "(2, 2)"),
    ]:
        with pytest.raises(ValueError) as fault:
            forest(**params).fit(X, y)
        assert told in str(fault.value), (params, str(fault.value))
    with pytest.raises(ValueError, match="at least 6"):
        forest().fit(X, np.where(np.arange(len(y)) < 3, 1, -1))


def test_sample_weight_is_refused(rows):
    X, y, _ = rows
    with pytest.raises(TypeError, match="sample_weight"):
        forest().fit(X, y, sample_weight=np.ones(len(y)))


def test_every_row_labelled_is_an_ordinary_classifier(rows):
    X, _, truth = rows
    with pytest.warns(MPUWarning, match="every row of y is labelled"):
        model = forest().fit(X, truth)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, truth) > 0.9
    assert model.predict_proba(X).shape == (len(X), 3)


def test_pipeline_clone_and_cross_validation(rows):
    X, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), forest(seed=3))
    assert clone(pipeline).get_params()["mpuclassifier__seed"] == 3
    folds = PUStratifiedKFold(3, shuffle=True, random_state=0)
    for scoring in (pu_accuracy, pu_f1, pu_auc):
        scores = cross_val_score(pipeline, X, y, cv=folds, scoring=scoring, error_score="raise")
        assert scores.shape == (3,) and (scores > 0.75).all(), (scoring, scores)


def test_grid_search_without_negatives(rows):
    X, y, truth = rows
    scoring = make_pu_scorer("accuracy", priors={1: 0.25, 2: 0.25})
    grid = GridSearchCV(
        forest(), {"validation_share": [0.1, 0.2]}, scoring=scoring, cv=PUStratifiedKFold(2), error_score="raise"
    )
    grid.fit(X, y)
    assert grid.best_score_ > 0.75 and grid.best_estimator_.score(X, truth) > 0.9


def test_scores_without_negatives_are_near_the_true_ones(rows):
    X, y, truth = rows
    half = np.arange(len(X)) % 2 == 0
    model = forest().fit(X[half], y[half])
    true = model.score(X[~half], truth[~half])
    assert abs(pu_accuracy(model, X[~half], y[~half]) - true) < 0.08
    with pytest.raises(ValueError, match="not fitted with"):
        pu_accuracy(model, X, np.where(y == 1, 9, y))


def test_folds_keep_shares():
    y = np.array([None] * 60 + ["a"] * 20 + ["b"] * 10, dtype=object)
    for train, held in PUStratifiedKFold(5).split(y, y):
        counts = [sum(label == kind for label in y[held]) for kind in (None, "a", "b")]
        assert counts == [12, 4, 2] and len(train) == 72


def test_estimates_and_checks(rows):
    X, y, truth = rows
    found = estimate_priors(X, y)
    true = {label: np.mean(truth[y == -1] == (0 if label == -1 else label)) for label in (-1, 1, 2)}
    for label, share in found.as_dict().items():
        assert abs(share - true[label]) < 0.1, (label, found)
    assert "PriorEstimate(-1:" in repr(found)
    told = check(X, y)
    assert told.facts["rows"] == 600 and told.facts["unlabeled"] == int((y == -1).sum())
    assert "(unlabelled pool)" in str(told) and told._repr_html_().startswith("<pre>")
    leaky = np.column_stack([X, y >= 0])
    assert any("x3" in warning for warning in check(leaky, y).warnings)


def test_report_and_onnx(rows, tmp_path):
    X, y, _ = rows
    model = forest().fit(X, y)
    report = model.report()
    assert report.html.lower().startswith("<!doctype html>") and "<iframe" in report._repr_html_()
    report.save(tmp_path / "report.html")
    data = model.to_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == data
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(data)
    found = session.run(None, {session.get_inputs()[0].name: X})
    probabilities = next(v for v in found if v.shape == (len(X), 3) and np.allclose(v.sum(1), 1, atol=1e-4))
    order = [model._order.tolist().index(i) for i in range(3)]
    np.testing.assert_allclose(probabilities, model.predict_proba(X)[:, order], atol=2e-3)


def test_pickles_cross_processes(rows, tmp_path):
    X, y, _ = rows
    model = forest().fit(X, y)
    state = model.__getstate__()["_model"]
    assert all(isinstance(part, bytes) for part in state.values())
    assert {"forest.safetensors", "model.json"} <= set(state)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "X.npy", X)
    code = """
        import pickle, sys, numpy as np
        model = pickle.load(open("model.pickle", "rb"))
        np.save("answers.npy", model.predict_proba(np.load("X.npy")))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, check=True, timeout=120)
    assert (np.load(tmp_path / "answers.npy") == model.predict_proba(X)).all()


def test_joblib_workers_fit(rows):
    X, y, _ = rows
    scores = cross_val_score(forest(), X, y, cv=PUStratifiedKFold(2), scoring=pu_accuracy, n_jobs=2)
    again = cross_val_score(forest(), X, y, cv=PUStratifiedKFold(2), scoring=pu_accuracy)
    assert (scores == again).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_predict(rows):
    X, y, _ = rows
    model = forest().fit(X, y)
    before = model.predict(X)
    child = os.fork()
    if child == 0:
        os._exit(0 if (model.predict(X) == before).all() else 1)
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child hangs")


def test_threads_share_rows_and_do_not_matter(rows):
    X, y, _ = rows
    one = MPUClassifier(epochs=6, n_jobs=1).fit(X, y)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(lambda: MPUClassifier(epochs=6, n_jobs=2).fit(X, y)) for _ in range(3)]
        answers = [fit.result().predict_proba(X) for fit in fits]
    for found in answers:
        assert (found == one.predict_proba(X)).all()


def test_other_threads_run_during_a_fit(digits):
    X, y, _ = digits
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    MPUClassifier(model="network", epochs=15, priors={0: 0.05, 3: 0.05, 8: 0.05}).fit(X, y)
    ended = time.monotonic()
    done.set()
    thread.join()
    within = [t for t in ticks if began < t < ended]
    assert len(within) > 10, "the lock was not released"


@pytest.mark.skipif(sys.platform == "win32", reason="signals work otherwise there")
def test_ctrl_c_stops_a_fit(tmp_path):
    code = """
        import numpy as np
        from mpulearn import MPUClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20000, 20)).astype(np.float32)
        y = np.where(rng.random(20000) < 0.2, (X[:, 0] > 0).astype(int), -1)
        print("ready", flush=True)
        try:
            MPUClassifier(model="network", epochs=100000).fit(X, y)
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "stopped\n"


def test_verbose_tells_what_is_understood(rows, capsys):
    X, y, _ = rows
    MPUClassifier(epochs=6, verbose=1).fit(X, y)
    told = capsys.readouterr().out
    assert "marked by -1" in told and "epoch 6" in told
    forest().fit(X, y)
    assert capsys.readouterr().out == ""
