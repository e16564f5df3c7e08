"""What a practitioner would pick instead. Every peer takes a table and a seed; it gives answers and probabilities for the
test rows (observed classes, then `unknown`), and estimated priors of the pool if it has any."""

import numpy as np
from pulearn import BaggingPuClassifier, ElkanotoPuClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

TREES = 300
LEAF = 3


def columns(table, categories, numbers="passthrough"):
    """Training and test features; categories by one encoder, numbers by another."""
    cells = np.where(table.x == "", None, table.x)
    text, other = np.flatnonzero(table.categorical), np.flatnonzero(~np.array(table.categorical))
    cells[:, other] = cells[:, other].astype(float)
    coder = make_column_transformer((categories, text), (numbers, other), sparse_threshold=0)
    return coder.fit_transform(cells[table.train]).astype(float), coder.transform(cells[table.test]).astype(float)


def filled(table):
    """One-hot categories, missing cells filled in: what a forest takes."""
    fill = SimpleImputer(strategy="most_frequent", missing_values=None)
    return columns(table, make_pipeline(fill, OneHotEncoder(handle_unknown="ignore")), SimpleImputer(strategy="median"))


def forest(seed, **options):
    return RandomForestClassifier(TREES, min_samples_leaf=LEAF, n_jobs=-1, random_state=seed, **options)


def with_unknown(posterior):
    """Posteriors of the observed classes, and what is left for `unknown`."""
    posterior = np.clip(posterior, 0, 1)
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1)
    return np.column_stack([posterior, 1 - posterior.sum(axis=1)])


def rf_en(table, seed):
    train, test = filled(table)
    k = len(table.observed)
    model = forest(seed, oob_score=True).fit(train, table.seen())
    out_of_bag = np.nan_to_num(model.oob_decision_function_[:, :k])
    labels = np.maximum([out_of_bag[table.seen() == label, label].mean() for label in range(k)], 1e-6)
    p = with_unknown(model.predict_proba(test)[:, :k] / labels)
    pool = with_unknown(out_of_bag[~table.labelled] / labels)
    return p.argmax(axis=1), p, pool[:, :k].mean(axis=0)


def one_vs_rest(table, fit):
    """The likeliest class if it has at least one half, else `unknown`."""
    train, test = filled(table)
    scores = [fit(train, (table.seen() == label).astype(int)).predict_proba(test)[:, 1]
              for label in range(len(table.observed))]
    p = np.clip(np.column_stack(scores), 0, 1)
    return np.where(p.max(axis=1) >= 0.5, p.argmax(axis=1), p.shape[1]), with_unknown(p), None


def rf_en_ovr(table, seed):
    def fit(x, y):
        # With few labelled rows the held-out tenth may have none; then more are held out.
        for share in [0.1, 0.2, 0.3, 0.5]:
            try:
                return ElkanotoPuClassifier(forest(seed), hold_out_ratio=share, random_state=seed).fit(x, y)
            except ValueError as error:
                found = error
        raise found

    return one_vs_rest(table, fit)


def bagging_ovr(table, seed):
    def fit(x, y):
        bags = BaggingPuClassifier(DecisionTreeClassifier(), n_estimators=TREES, max_samples=int(y.sum()), n_jobs=-1,
                                   random_state=seed)
        return bags.fit(x, y)

    return one_vs_rest(table, fit)


def boosting(table, seed, labels):
    train, test = columns(table, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan))
    # The encoder puts the columns of categories first.
    named = np.arange(train.shape[1]) < sum(table.categorical)
    model = HistGradientBoostingClassifier(categorical_features=named, random_state=seed).fit(train, labels)
    p = np.zeros((len(test), len(table.observed) + 1))
    p[:, model.classes_] = model.predict_proba(test)
    return p.argmax(axis=1), p, None


def share_of_all(table, seed):
    train, test = filled(table)
    model = ExtraTreesClassifier(TREES, n_jobs=-1, random_state=seed)
    p = model.fit(train[table.share_of_all], table.truth(table.train)[table.share_of_all]).predict_proba(test)
    return p.argmax(axis=1), p, None


PEERS = {
    "rf-en": rf_en,
    "rf-en-ovr": rf_en_ovr,
    "bagging-ovr": bagging_ovr,
    "histgb": lambda table, seed: boosting(table, seed, table.seen()),
    "share-of-all": share_of_all,
    "supervised": lambda table, seed: boosting(table, seed, table.truth(table.train)),
}
