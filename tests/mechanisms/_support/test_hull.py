from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dalenius.errors import InvalidParameter
from dalenius.mechanisms import Hull


class TestBodies:
    def test_vertices_are_on_the_sphere(self) -> None:
        rng = np.random.default_rng(5)
        for d in (1, 2, 3, 5):
            points = rng.normal(size=(4 * d, d))
            body = Hull.of_vertices(points)
            norms = [body.norm(p) for p in points]
            assert max(norms) == pytest.approx(1.0, abs=1e-8)
            assert body.stretch >= 1
            assert body.stretch < 1 + Fraction(1, 10**9)
            assert all(body.norm(-p) == n for p, n in zip(points, norms, strict=True))
            assert 0 < body.share <= 1

    def test_known_norms(self) -> None:
        diamond = Hull.of_vertices(np.eye(3))
        cube = Hull.of_half_spaces(np.eye(3), [1, 1, 1])
        rng = np.random.default_rng(6)
        for z in rng.normal(size=(20, 3)):
            assert diamond.norm(z) == pytest.approx(np.abs(z).sum(), rel=1e-6)
            assert cube.norm(z) == pytest.approx(np.abs(z).max(), rel=1e-6)
        assert diamond.share == pytest.approx(1 / 6, rel=1e-6)
        assert cube.share == pytest.approx(1.0, rel=1e-5)

    def test_half_spaces_and_vertices_agree(self) -> None:
        by_rows = Hull.of_half_spaces([[1, 0], [0, 1], [1, -1]], [1, 1, 1])
        by_points = Hull.of_vertices([[1, 0], [0, 1], [1, 1]])
        for z in np.random.default_rng(7).normal(size=(30, 2)):
            assert by_rows.norm(z) == pytest.approx(by_points.norm(z), rel=1e-5)

    def test_norm_is_a_norm(self) -> None:
        body = Hull.of_vertices(np.random.default_rng(8).normal(size=(6, 3)))
        rng = np.random.default_rng(9)
        for a, b in rng.normal(size=(50, 2, 3)):
            assert body.norm(a + b) <= body.norm(a) + body.norm(b) + 1e-12
            assert body.norm(-2.5 * a) == pytest.approx(2.5 * body.norm(a))

    def test_box_holds_the_body(self) -> None:
        rows, limits = np.random.default_rng(10).normal(size=(7, 3)), np.ones(7)
        body = Hull.of_half_spaces(rows, limits)
        rng = np.random.default_rng(11)
        for z in rng.normal(size=(2000, 3)):
            inside = z / np.max(np.abs(rows @ z))  # on the boundary of the rows alone
            assert (np.abs(inside) <= body.widths).all()

    def test_corner(self) -> None:
        body = Hull.of_vertices([[1, 0], [0, 1]])
        assert float(body.corner) == pytest.approx(2.0, rel=1e-9)


class TestMembership:
    def test_exact_on_the_boundary(self) -> None:
        """Points on the boundary, and one step beyond it, where doubles cannot tell."""
        body = Hull.of_half_spaces([[1.0, 1.0], [1.0, -1.0]], [1.0, 1.0])
        far = 2**55 + 1
        rows = np.array([[far, 0], [far + 1, 0], [far - 1, 1], [far, 1], [far - 1, 2]])
        inside = body.contains(rows, np.full(5, far))
        assert inside.tolist() == [True, False, True, False, False]

    def test_random_points(self) -> None:
        body = Hull.of_vertices([[2, 0, 0], [0, 1, 0], [0, 0, 3], [1, 1, 1]])
        rows = np.random.default_rng(12).integers(-3000, 3000, size=(3000, 3))
        radius = np.full(3000, 1000)
        exact = [max(body._sides(row)) <= 1000 for row in rows.tolist()]
        assert body.contains(rows, radius).tolist() == exact
        assert 0 < sum(exact) < 3000


class TestRefusals:
    @pytest.mark.parametrize(
        "points", [[], [1, 2], [[1.0, np.nan]], [[1, 0], [2, 0]], [["a", "b"]], None, [[np.inf, 1], [1, 2]]]
    )
    def test_vertices(self, points: object) -> None:
        with pytest.raises(InvalidParameter):
            Hull.of_vertices(points)

    def test_half_spaces(self) -> None:
        with pytest.raises(InvalidParameter, match="one finite number above 0"):
            Hull.of_half_spaces(np.eye(2), [1, 0])
        with pytest.raises(InvalidParameter, match="one finite number above 0"):
            Hull.of_half_spaces(np.eye(2), [1])
        with pytest.raises(InvalidParameter, match="bounded"):
            Hull.of_half_spaces([[1.0, 0.0]], [1])

    def test_thin_bodies(self) -> None:
        with pytest.raises(InvalidParameter, match="bounding box"):
            Hull.of_vertices(np.eye(10))
