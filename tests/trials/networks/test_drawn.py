"""Drawn images: what they are made of, and that fifty of them do not suffice."""

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.networks import drawn
from trials.networks.drawn import CHARACTERS, glyphs, textures
from trials.networks.federations import by_writer, rotated

pytest.importorskip("PIL")


def linear_accuracy(one, two, n):
    """The share of right classes by the nearest centre of n training images."""
    x = one.pixels[:n].reshape(n, -1) / 255.0
    present = np.unique(one.labels[:n])
    centres = np.stack([x[one.labels[:n] == c].mean(axis=0) for c in present])
    far = ((two.pixels.reshape(len(two.labels), 1, -1) / 255.0 - centres) ** 2).sum(axis=2)
    return float((present[far.argmin(axis=1)] == two.labels).mean())


def test_glyphs_have_their_shape_and_depend_on_the_stream_alone():
    one, again = (glyphs(n=62, classes=62, writers=4, rng=np.random.default_rng(1)) for _ in "ab")
    assert one.pixels.shape == (62, 1, 28, 28)
    assert one.pixels.dtype == np.uint8
    np.testing.assert_array_equal(one.pixels, again.pixels)
    assert np.bincount(one.writers).tolist() == [16, 15, 16, 15]
    assert one.labels.max() > 9
    assert len(CHARACTERS) == 62
    assert (one.pixels.max(axis=(1, 2, 3)) > 150).all(), "every glyph has ink"
    with pytest.raises(InvalidParameter, match="writers=3 must be at most n=2"):
        glyphs(n=2, writers=3, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="classes"):
        glyphs(n=2, classes=26, rng=np.random.default_rng(0))
    asked = np.array([3, 1, 4])
    assert glyphs(n=3, labels=asked, rng=np.random.default_rng(0)).labels.tolist() == [3, 1, 4]
    for wrong in (asked[:2], asked + 6, asked - 2):
        with pytest.raises(InvalidParameter, match="labels must be n=3 numbers from 0 to 9"):
            glyphs(n=3, labels=wrong, rng=np.random.default_rng(0))


def test_a_writer_has_one_hand_in_all_parts_in_which_images_are_drawn(monkeypatch):
    seen = []

    def noted(style, labels, rng):
        seen.append({name: values.copy() for name, values in style.items()} | {"labels": labels})
        return np.zeros((len(labels), 28, 28), dtype=np.uint8)

    monkeypatch.setattr(drawn, "_CHUNK", 8)
    monkeypatch.setattr(drawn, "_glyphs_of", noted)
    found = glyphs(n=29, writers=5, rng=np.random.default_rng(4))
    assert [len(part["labels"]) for part in seen] == [8, 8, 8, 5]
    joined = {name: np.concatenate([part[name] for part in seen]) for name in seen[0]}
    np.testing.assert_array_equal(joined.pop("labels"), found.labels)
    for name, values in joined.items():
        hands = [set(values[found.writers == w].tolist()) for w in range(5)]
        assert all(len(hand) == 1 for hand in hands), name
        if name != "font":
            assert len(set.union(*hands)) == 5


def noted_hands(monkeypatch, **given):
    """The hands and the forms that `glyphs` draws, and what it returns."""
    seen = []

    def noted(style, forms, rng):
        seen.append({**style, "forms": forms})
        return np.zeros((len(forms), 28, 28), dtype=np.uint8)

    monkeypatch.setattr(drawn, "_glyphs_of", noted)
    found = glyphs(**given, rng=np.random.default_rng(5))
    return {name: np.concatenate([part[name] for part in seen]) for name in seen[0]}, found


@pytest.mark.parametrize("distinct", [0.0, 0.5, 1.0])
def test_writers_of_a_group_share_a_feature_as_often_as_asked(monkeypatch, distinct):
    """500 writers a group: the share of its commonest slant lies within five deviations."""
    hands, found = noted_hands(monkeypatch, n=1500, writers=1500, styles=3, distinct=distinct)
    assert np.bincount(found.styles).tolist() == [500, 500, 500]
    for group in range(3):
        own = {name: values[found.styles == group] for name, values in hands.items()}
        for name in ("slant", "turn", "stretch", "size", "stroke"):
            most = np.unique(own[name], return_counts=True)[1].max()
            assert abs(most - 500 * distinct) <= 5 * np.sqrt(125) * (0.0 < distinct < 1.0) + 1
        assert len(np.unique(own["noise"])) == 500
        fonts = np.bincount(own["font"], minlength=len(drawn.FONTS)).max()
        assert abs(fonts - 500 * (distinct + (1 - distinct) / 10)) <= 50
    np.testing.assert_array_equal(hands["forms"], found.labels)
    alone, _ = noted_hands(monkeypatch, n=1500, writers=1500)
    if distinct == 0.0:
        for name, values in alone.items():
            np.testing.assert_array_equal(hands[name], values)


@pytest.mark.parametrize(("styles", "classes"), [(1, 10), (2, 10), (3, 10), (4, 62), (8, 62)])
def test_groups_exchange_the_forms_of_pairs_and_any_two_groups_differ(monkeypatch, styles, classes):
    hands, found = noted_hands(
        monkeypatch, n=400 * styles, classes=classes, writers=styles, styles=styles, habits=True
    )
    means = [
        dict(zip(hands["forms"][own], found.labels[own], strict=True))
        for own in (found.styles == group for group in range(styles))
    ]
    pairs = [tuple(map(CHARACTERS.index, pair)) for pair in drawn.PAIRS]
    for group, meaning in enumerate(means):
        for form, label in meaning.items():
            assert form == label or (form, label) in pairs or (label, form) in pairs
        assert all(form == label for form, label in meaning.items()) == (group == 0)
        for other in means[:group]:
            assert any(meaning[form] != other[form] for form in set(meaning) & set(other))
    with pytest.raises(InvalidParameter, match="styles=3 must be at most writers=2"):
        glyphs(n=4, writers=2, styles=3, rng=np.random.default_rng(0))


def test_writers_keep_the_group_of_their_images():
    owner, groups = np.repeat([0, 1, 2, 3], 5), np.repeat([2, 2, 0, 1], 5)
    mixed = np.random.default_rng(1).permutation(20)
    one, two = by_writer(
        pixels=np.zeros((20, 1, 4, 4), dtype=np.uint8), labels=np.arange(20) % 10,
        writers=owner[mixed], groups=groups[mixed], n=2, n_test=3, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert one.clusters.tolist() == two.clusters.tolist() == [2, 2, 0, 1]


def test_more_glyphs_are_learned_better_and_fifty_do_not_suffice():
    """The nearest centre is right for a third of the images after 50, and for more after 1,500."""
    one = glyphs(n=1500, rng=np.random.default_rng(2))
    two = glyphs(n=500, rng=np.random.default_rng(3))
    few, many = (linear_accuracy(one, two, n) for n in (50, 1500))
    assert 0.15 < few < 0.6
    assert many > few + 0.1


def test_textures_are_lighter_above_and_waves_of_opposite_classes_rise_against_each_other():
    drawn = textures(n=400, rng=np.random.default_rng(4))
    assert drawn.pixels.shape == (400, 3, 32, 32)
    assert set(drawn.labels.tolist()) == set(range(10))
    grey = drawn.pixels.astype(float).mean(axis=1)
    assert grey[:, :10].mean() > 1.1 * grey[:, -10:].mean(), "light falls from above"
    for label, sign in ((0, 1.0), (5, -1.0)):  # class 0 rises to the right: slow up, fast down
        slopes = np.diff(grey[drawn.labels == label], axis=2)
        assert sign * np.mean(slopes**3) < 0.0


@pytest.mark.parametrize("chunk", [7, 4096])
def test_the_wave_of_each_image_rises_in_the_direction_of_its_label(monkeypatch, chunk):
    """Also in the parts after the first, and in each colour.

    Without bends and noise most of an image is a slope.  The light changes it by a tenth.
    """
    monkeypatch.setattr(drawn, "_CHUNK", chunk)
    found = textures(n=40, hardness=0.0, rng=np.random.default_rng(6))
    assert len(set(found.labels[:7].tolist())) > 3
    assert (found.labels[7:] != np.resize(found.labels[:7], 33)).sum() > 20
    values = found.pixels.astype(float)
    down = np.median(np.diff(values, axis=2), axis=(2, 3))
    right = np.median(np.diff(values, axis=3), axis=(2, 3))
    turns = np.arctan2(down, right) / (2 * np.pi) * 10.0
    far = (turns - found.labels[:, None] + 5.0) % 10.0 - 5.0
    assert np.abs(far).max() < 1.0


def test_harder_textures_keep_their_classes_and_are_noisier_and_more_bent():
    plain, same, hard = (
        textures(n=40, hardness=h, rng=np.random.default_rng(8)) for h in (1.0, 1.0, 5.0)
    )
    np.testing.assert_array_equal(plain.pixels, same.pixels)
    np.testing.assert_array_equal(plain.pixels, textures(n=40, rng=np.random.default_rng(8)).pixels)
    np.testing.assert_array_equal(plain.labels, hard.labels)
    rough = [np.abs(np.diff(each.pixels.astype(float), axis=3)).mean() for each in (plain, hard)]
    assert rough[1] > 2.0 * rough[0]
    with pytest.raises(InvalidParameter, match="hardness"):
        textures(n=1, hardness=-1.0, rng=np.random.default_rng(0))


def test_a_rotated_federation_holds_every_image_once_in_each_rotation():
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (12, 1, 3, 3), dtype=np.uint8)
    found = rotated(pixels=pixels, labels=np.arange(12), k=4, m=16, n=3, rng=rng)
    assert found.clusters.tolist() == sorted([0, 1, 2, 3] * 4)
    for j in range(4):
        assert sorted(found.rows[found.clusters == j].ravel()) == list(range(12))
    x, y = found.batch(np.array([0, 5, 15]))
    for i, (client, turn) in enumerate(((0, 0), (5, 1), (15, 3))):
        for a, row in enumerate(found.rows[client]):
            assert y[i, a] == row
            np.testing.assert_array_equal(
                x[i, a, 0], np.float32(np.rot90(pixels[row, 0], turn)) / np.float32(255)
            )
    chosen, labels = found.batch(np.array([5]), np.array([[2, 2]]))
    assert labels.tolist() == [[found.rows[5, 2]] * 2]
    np.testing.assert_array_equal(chosen[0, 0], x[1, 2])
    two = rotated(pixels=pixels, labels=np.arange(12), k=2, m=4, n=2, rng=rng)
    assert two.turns.tolist() == [0, 0, 2, 2]
    for bad in ({"k": 3, "m": 3}, {"k": 4, "m": 6}, {"k": 2, "m": 20}):
        with pytest.raises(InvalidParameter, match="must"):
            rotated(pixels=pixels, labels=np.arange(12), n=3, rng=rng, **bad)


def test_each_rotation_of_the_set_is_split_anew():
    images = np.zeros((40, 1, 2, 2), dtype=np.uint8)
    found = rotated(
        pixels=images, labels=np.arange(40), k=4, m=8, n=20, rng=np.random.default_rng(6)
    )
    splits = [found.rows[found.clusters == j].ravel().tolist() for j in range(4)]
    assert all(sorted(rows) == list(range(40)) for rows in splits)
    assert len({tuple(rows) for rows in splits}) == 4


def test_writers_keep_their_own_images_and_small_ones_are_left_out():
    rng = np.random.default_rng(6)
    owner = np.array([0] * 5 + [1] * 2 + [2] * 6)[rng.permutation(13)]
    pixels = np.zeros((13, 1, 4, 4), dtype=np.uint8)
    one, two = by_writer(pixels=pixels, labels=np.arange(13), writers=owner, n=3, n_test=2, rng=rng)
    assert one.rows.shape == (2, 3)
    assert two.rows.shape == (2, 2)
    for i, writer in enumerate((0, 2)):
        rows = [*one.rows[i], *two.rows[i]]
        assert len(set(rows)) == 5
        assert (owner[rows] == writer).all()
    with pytest.raises(InvalidParameter, match=r"no writer has n \+ n_test = 9 images"):
        by_writer(pixels=pixels, labels=np.arange(13), writers=owner, n=7, n_test=2, rng=rng)


def test_each_pair_is_exchanged_by_a_binary_digit_of_the_group():
    """Pair p by digit p mod b: the digits begin anew after b pairs."""
    for classes in (10, 62):
        pairs = [[CHARACTERS.index(c) for c in pair] for pair in drawn.PAIRS]
        pairs = [pair for pair in pairs if max(pair) < classes]
        for styles, digits in ((1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3)):
            for group in range(styles):
                expected = np.arange(classes)
                for p, (one, two) in enumerate(pairs):
                    if digits and f"{group:0{digits}b}"[::-1][p % digits] == "1":
                        expected[[one, two]] = two, one
                labels, groups = np.arange(classes), np.full(classes, group)
                found = drawn.exchanged(labels, groups, styles, classes)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda pixels, rng: glyphs(n=6, labels=np.arange(6) + 0.5, rng=rng),
        lambda pixels, rng: glyphs(n=6, labels=[1, 2], rng=rng),
        lambda pixels, rng: glyphs(n=2, labels=[1, 10], rng=rng),
        lambda pixels, rng: rotated(pixels=pixels, labels=np.arange(3), k=2, m=4, n=3, rng=rng),
        lambda pixels, rng: by_writer(
            pixels=pixels, labels=np.arange(6), writers=np.zeros(9), n=2, n_test=1, rng=rng
        ),
        lambda pixels, rng: by_writer(
            pixels=pixels, labels=np.arange(5), writers=np.zeros(6), n=2, n_test=1, rng=rng
        ),
        lambda pixels, rng: by_writer(
            pixels=pixels, labels=np.arange(6), writers=np.zeros(6), groups=[1], n=2, n_test=1,
            rng=rng,
        ),
    ],
)  # fmt: skip
def test_numbers_that_are_not_one_an_image_are_refused(call):
    """They ended in an IndexError of NumPy, some only when a client's images were asked for."""
    with pytest.raises(InvalidParameter, match=r"labels|writers|groups"):
        call(np.zeros((6, 1, 2, 2), dtype=np.uint8), np.random.default_rng(0))


def test_lists_are_as_good_as_arrays():
    rng = np.random.default_rng
    listed = glyphs(n=3, labels=[1, 2, 3], rng=rng(0))
    array = glyphs(n=3, labels=np.array([1, 2, 3]), rng=rng(0))
    np.testing.assert_array_equal(listed.pixels, array.pixels)
    assert listed.labels.tolist() == [1, 2, 3]
    pixels = np.zeros((4, 1, 2, 2), dtype=np.uint8)
    one, two = by_writer(
        pixels=pixels, labels=[5, 6, 7, 8], writers=[1, 0, 1, 0], groups=[3, 2, 3, 2], n=1,
        n_test=1, rng=rng(0),
    )  # fmt: skip
    assert one.clusters.tolist() == [2, 3]
    both = np.concatenate([one.labels[one.rows], two.labels[two.rows]], axis=1)
    assert np.sort(both, axis=1).tolist() == [[6, 8], [5, 7]]
