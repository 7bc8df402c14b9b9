"""Tests that the options of a cluster as a dict are the parameters of the class."""

import inspect
from typing import get_type_hints

from kafkalet.testing.cluster import Cluster
from kafkalet.testing.options import ClusterOptions


def test_options_are_the_parameters_of_a_cluster() -> None:
    parameters = list(inspect.signature(Cluster).parameters)[:-1]  # without `unknown`
    assert list(get_type_hints(ClusterOptions)) == parameters
