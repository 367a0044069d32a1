"""One audit that the report's tests share; it is never changed."""

import pytest

from tests.reports.call_value.audits import make_audit


@pytest.fixture(scope="session")
def audit(tmp_path_factory):
    return make_audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="session")
def clustered(tmp_path_factory):
    """Three examples of each cluster."""
    return make_audit(tmp_path_factory.mktemp("clustered"), n_holdout=60, per_cluster=3)
