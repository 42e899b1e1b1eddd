"""scikit-learn: estimators on tensors and sparse matrices."""

from __future__ import annotations

import pickle

import pytest

numpy = pytest.importorskip("numpy")
sklearn = pytest.importorskip("sklearn")

import tl_runtime as tl


def samples() -> tuple[tl.Tensor, tl.Tensor]:
    generator = numpy.random.default_rng(1)
    given = generator.normal(size=(200, 4))
    return tl.from_numpy(given), tl.from_numpy((given[:, 0] > 0).astype("int64"))


def test_fit_and_predict() -> None:
    from sklearn.linear_model import LogisticRegression

    x, y = samples()
    model = LogisticRegression().fit(x, y)
    assert model.score(x, y) > 0.95
    assert (model.predict(x) == model.predict(x.numpy())).all()


def test_a_pipeline() -> None:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, _ = samples()
    model = make_pipeline(StandardScaler(), PCA(2), KMeans(3, n_init=1, random_state=0))
    assert set(model.fit_predict(x)) == {0, 1, 2}


def test_no_copy() -> None:
    from sklearn.utils import check_array

    x, _ = samples()
    assert numpy.shares_memory(check_array(x), x.numpy())


def test_sparse() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    from sklearn.linear_model import Ridge

    given = sparse.random_array((100, 20), density=0.2, format="csr", rng=2)
    matrix = tl.SparseMatrix.from_scipy(given)
    assert Ridge().fit(matrix.to_scipy(), numpy.arange(100.0)).coef_.shape == (20,)


def test_workers_of_joblib() -> None:
    """Tensors are arguments of loky's processes, which are started afresh."""
    from joblib import Parallel, delayed

    x, _ = samples()
    totals = Parallel(n_jobs=2)(delayed(numpy.sum)(row) for row in (x[0].clone(), x[1].clone()))
    assert totals == [float(x.numpy()[0].sum()), float(x.numpy()[1].sum())]


def test_a_model_in_a_pickle() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    x, y = samples()
    model = pickle.loads(pickle.dumps(KNeighborsClassifier().fit(x, y)))
    assert model.score(pickle.loads(pickle.dumps(x)), y) > 0.9
