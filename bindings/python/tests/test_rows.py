"""Rows of every kind."""

import numpy as np
import pytest

from mpulearn import MPUClassifier, _rows

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
sparse = pytest.importorskip("scipy.sparse")


def forest(**params):
    return MPUClassifier(model="forest", trees=15, **params)


@pytest.fixture(scope="module")
def frame(rows):
    """A frame with a category that tells class 2, and missing values."""
    X, y, truth = rows
    rng = np.random.default_rng(1)
    colour = np.where(truth == 2, "red", rng.choice(["green", "blue"], len(X))).astype(object)
    colour[rng.random(len(X)) < 0.05] = None
    width = X[:, 1].astype(float)
    width[::17] = np.nan
    table = pd.DataFrame({"length": X[:, 0], "width": width, "colour": colour, "used": rng.random(len(X)) < 0.5})
    return table, y, truth


def test_layouts_and_precisions_agree(rows):
    X, y, _ = rows
    wanted = forest().fit(X, y).predict_proba(X)
    for other in (X.astype(np.float64), np.asfortranarray(X), X[::1], X.tolist(), np.repeat(X, 2, axis=0)[::2]):
        model = forest().fit(other, y)
        assert (model.predict_proba(X) == wanted).all()
        assert (model.predict_proba(other) == wanted).all()
    assert (forest().fit(sparse.csr_matrix(X), y).predict_proba(sparse.csr_array(X)) == wanted).all()
    named = forest().fit(pd.DataFrame(X, columns=list("abc")), y)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (named.predict_proba(pd.DataFrame(X, columns=list("abc"))) == wanted).all()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (named.predict_proba(X) == wanted).all()


def test_the_array_is_left_alone(rows):
    X, y, _ = rows
    X = X.copy()
    X[::13, 0] = np.nan
    before = X.copy()
    X.flags.writeable = False
    model = forest().fit(X, y)
    model.predict(X)
    assert np.array_equal(X, before, equal_nan=True)


def test_pandas_frames(frame):
    table, y, truth = frame
    model = forest().fit(table, y)
    assert model.feature_names_in_.tolist() == ["length", "width", "colour", "used"]
    assert model.n_features_in_ == 4
    assert model.score(table, truth) > 0.9
    as_category = table.assign(colour=table["colour"].astype("category"))
    assert (forest().fit(as_category, y).predict_proba(as_category) == model.predict_proba(table)).all()
    new = table.iloc[:5].assign(colour="violet")
    assert model.predict(new).shape == (5,), "a category that was not seen"
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["width", "length", "colour", "used"]])
    with pytest.raises(ValueError, match="dates"):
        forest().fit(table.assign(day=pd.Timestamp("2024-01-01")), y)
    nullable = table.assign(width=table["width"].astype("Float64"), used=table["used"].astype("boolean"))
    assert (forest().fit(nullable, y).predict_proba(nullable) == model.predict_proba(table)).all()


def test_polars_frames(frame):
    table, y, _ = frame
    wanted = forest().fit(table, y).predict_proba(table)
    other = pl.DataFrame(
        {name: [None if pd.isna(value) else value for value in table[name]] for name in table.columns}
    )
    model = forest().fit(other, pl.Series(y))
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert (model.predict_proba(other) == wanted).all()
    category = other.with_columns(pl.col("colour").cast(pl.Categorical))
    assert (forest().fit(category, y).predict_proba(category) == wanted).all()


def test_numbers_as_categories(rows):
    X, y, _ = rows
    coded = np.column_stack([X, (np.arange(len(X)) % 4)])
    model = forest(categorical=[3]).fit(coded, y)
    assert model._model.columns == ["x0", "x1", "x2", "x3"]
    assert model.predict(coded).shape == y.shape
    table = pd.DataFrame(coded, columns=list("abcd"))
    assert (forest(categorical=["d"]).fit(table, y).predict(table) == model.predict(coded)).all()


def test_sparse_rows_have_a_limit(rows, monkeypatch):
    X, y, _ = rows
    monkeypatch.setattr(_rows, "DENSE_LIMIT", 1000)
    with pytest.raises(ValueError, match="limit"):
        forest().fit(sparse.csr_matrix(X), y)


def test_images(digits):
    X, y, truth = digits
    X, y, truth = X[:900], y[:900], truth[:900]
    flat = X.reshape(-1, 8, 8)
    model = MPUClassifier(epochs=8, priors={0: 0.05, 3: 0.05, 8: 0.05}).fit(flat, y)
    assert model.n_features_in_ == 64 and model._model.image == (1, 8, 8)
    last = MPUClassifier(epochs=8, priors={0: 0.05, 3: 0.05, 8: 0.05}).fit(flat[..., None], y)
    assert (last.predict_proba(flat[..., None]) == model.predict_proba(flat)).all()
    colour = np.repeat(flat[..., None], 3, axis=3).astype(np.uint8)[:120]
    net = MPUClassifier(method="csmpu-abs", epochs=1, priors={0: 0.05, 3: 0.05, 8: 0.05})
    labels = np.where(truth[:120] == 0, 0, np.where(truth[:120] == 3, 3, np.where(truth[:120] == 8, 8, -1)))
    assert net.fit(colour, labels)._model.image == (3, 8, 8) and net.predict(colour).shape == (120,)
    with pytest.raises(ValueError, match="channels"):
        MPUClassifier().fit(np.zeros((40, 8, 8, 5)), y[:40])


def test_faults_of_rows(rows):
    X, y, _ = rows
    for bad, told in [(np.where(X > 3, np.inf, X), "infinity"), (X.astype(complex), "Complex"), (X[:, 0], "2D array")]:
        with pytest.raises(ValueError, match=told):
            forest().fit(bad, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        forest().fit(X, y[:-1])
    with pytest.raises(ValueError, match="every column is constant"):
        forest().fit(np.ones_like(X), y)
