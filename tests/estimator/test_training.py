"""A model out of SYNTHETIC fingerprints: what it learns from, what it keeps, and how its file is refused."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from synthetic_jobs import NOTE, OneFit, jobs

from easyrider.fingerprints import Fingerprint
from easyrider.fingerprints import encode as encoded
from easyrider_estimator.adapters.fingerprint_files import NoFingerprints, read, save
from easyrider_estimator.adapters.lightgbm_trees import grow
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_estimator.adapters.plain_files import write
from easyrider_estimator.core.card import card
from easyrider_estimator.core.estimates import estimate
from easyrider_estimator.core.margins import Margin, by_board, covered, margin
from easyrider_estimator.core.model import MOST_BYTES, ModelUnreadable, Ready, decode, encode
from easyrider_estimator.core.training import Grow, TooFewFingerprints, train


def trained(found: list[Fingerprint], grow: Grow = grow) -> bytes:
    return encode(
        train(
            found,
            grow,
            library="lightgbm",
            made_unix_s=1.7e9,
            note="",
            progress=lambda _done, _of, _what: None,
        )
    )


def test_the_same_fingerprints_give_the_same_trees_in_whatever_order_and_capped_ones_teach_nothing() -> None:
    free, capped = jobs(45, seed=4), jobs(30, seed=5, first=900, hidden=0.4)

    one, other = decode(trained(free)).model, decode(trained([*capped, *free[::-1]])).model

    assert other.left_out == {"limits hid what they draw": 30}
    assert msgspec.structs.replace(other, left_out={}) == one


def test_too_few_types_are_refused_with_the_numbers_and_why_others_do_not_count() -> None:
    with pytest.raises(TooFewFingerprints, match=r"39 of 59 .* 40 .*; 20 limits hid what they draw"):
        trained([*jobs(39, seed=1), *jobs(20, seed=2, first=500, hidden=0.5)])


def test_it_errs_less_than_the_mean_of_jobs_on_the_same_board_and_measures_its_coverage(ready: Ready) -> None:
    for one in ready.model.learned:
        assert one.measured.off < 0.5 * one.measured.plain_off, one.target
        assert 0.84 <= one.measured.covered <= 0.96, one.target


def test_what_matters_most_is_told_and_shares_add_up(ready: Ready) -> None:
    told = {one.feature: one.share for one in ready.model.importance}

    assert sum(told.values()) == pytest.approx(1.0)
    assert max(told, key=told.__getitem__) in ("image", "name")  # families differ most, and both tell them
    assert told["configuration.batch"] > 0.01


def test_jobs_that_say_odd_things_spoil_no_model() -> None:
    odd = [
        {"name": "İ" * 256, "image": "@:/"},
        {"configuration": f"{'k' * 250}=1"},
        {"configuration": "batch=auto,precision=" + "x" * 200},
        {"configuration": "=,;=;batch=1e14", "image": "", "name": ""},
        {"gpu_model": "ONE-OF-ITS-KIND"},
    ]
    found = jobs(100, seed=4)
    for number, words in enumerate(odd):
        changed = msgspec.structs.replace(found[number].type, **words)  # type: ignore[arg-type]
        found[number] = msgspec.structs.replace(found[number], type=changed)

    ready = decode(trained(found, OneFit()))

    batch = next(one for one in ready.model.features if one.name == "configuration.batch")
    assert batch.values is None  # still a number
    assert [estimate(ready, one.type, None).basis for one in found].count("model") >= 80


def test_no_type_is_judged_by_trees_that_learned_from_another_of_its_variants() -> None:
    once = jobs(45, seed=4)
    found = [*once, *(msgspec.structs.replace(one, variant=1) for one in once)]
    grown = OneFit()

    train(found, grown, library="", made_unix_s=0.0, note="", progress=lambda _done, _of, _what: None)

    fits = [Counter(tuple(row) for row in rows) for rows in grown.rows]
    assert len(fits) > 50
    assert all(count % 2 == 0 for fit in fits for count in fit.values())


def test_a_board_whose_jobs_scatter_has_wider_margins_than_one_whose_jobs_do_not() -> None:
    found = by_board(
        [*([0.01, -0.01] * 30), *([0.2, -0.2] * 30), 0.5, -0.5], ["calm"] * 60 + ["wild"] * 60 + ["new"] * 2
    )

    assert found["calm"] == Margin(low=-0.01, high=0.01)
    assert found["wild"] == Margin(low=-0.2, high=0.2)
    assert found["new"] == Margin(low=-0.5, high=0.5)  # of few jobs: the widest that any needed


def test_a_margin_counts_each_tail_outwards() -> None:
    off = [float(each) for each in range(-50, 50)]

    assert (margin(off).low, margin(off).high) == (-46.0, 45.0)
    assert margin([1.0] * 40).low == 0.0  # an estimate lies within its own interval


def test_coverage_is_measured_on_folds_that_drew_no_margin() -> None:
    quiet, wild = [0.1] * 100, [5.0] * 100  # neither margin holds what the other fold did

    assert covered(quiet + wild, ["a"] * 200, [0] * 100 + [1] * 100) == pytest.approx(0.5, abs=0.01)


def test_the_card_tells_size_version_features_and_what_was_measured(ready: Ready) -> None:
    told = card(ready)

    for word in (
        ready.version,
        ready.sha256,
        "300 fingerprints of 300 types",
        NOTE,
        "`gpu_count`",
        "SYNTHETIC-700",
    ):
        assert word in told
    assert "llama" not in told  # names of jobs are their owners' affair


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[:-20], "truncated|malformed|end"),
        (lambda data: data.replace(b'"coverage":0.9', b'"coverage":0.8', 1), "hash"),
        (lambda data: data.replace(b"estimator/1", b"estimator/9", 1), "Invalid enum"),
        (lambda data: b"\x80\x04K\x01.", "malformed"),
        (lambda data: b"", "truncated"),
        (lambda data: data + b" " * MOST_BYTES, "more than"),
        (lambda data: data.replace(b'"note":', b'"surprise":1,"note":', 1), "surprise"),
    ],
)
def test_a_damaged_model_file_is_refused_by_name(ready: Ready, damage: object, why: str) -> None:
    data = encode(ready.model)

    with pytest.raises(ModelUnreadable, match=why):
        decode(damage(data))  # type: ignore[operator]


def test_a_model_with_other_columns_or_without_a_target_is_refused(ready: Ready) -> None:
    replace = msgspec.structs.replace
    for other, why in (
        ({"features": ready.model.features[:-1]}, "other columns"),
        ({"learned": ready.model.learned[1:]}, "does not estimate mean_w"),
        ({"learned": (*ready.model.learned[:6], ready.model.learned[0])}, "twice"),
        ({"features": (ready.model.features[1], *ready.model.features[1:])}, "twice"),
    ):
        with pytest.raises(ModelUnreadable, match=why):
            encode(replace(ready.model, **other))


def test_a_file_that_is_replaced_is_read_anew_and_a_damaged_one_no_longer_believed(
    ready: Ready, tmp_path: Path
) -> None:
    path = tmp_path / "estimator.json"
    file = ModelFile(path)
    with pytest.raises(ModelUnreadable, match="No such file"):
        file.read()

    write(path, encode(ready.model))
    assert file.read() is file.read()
    write(path, b"{}")

    with pytest.raises(ModelUnreadable, match=r"estimator\.json"):
        file.read()


def test_fingerprints_of_a_folder_are_read_the_newest_of_each_and_what_is_damaged_is_told(
    tmp_path: Path,
) -> None:
    one, other = jobs(2, seed=1)
    newer = msgspec.structs.replace(one, revision=7)
    save(tmp_path / "all.jsonl", [one, other])
    (tmp_path / "newer.json").write_bytes(encoded(newer))
    (tmp_path / "worse.json").write_text(json.dumps({"type": {"name": "x", "gpu_count": 0}}))
    (tmp_path / "huge.jsonl").write_bytes(b"x" * 200_000)
    (tmp_path / "notes.txt").write_text("nothing of ours")

    found = read(tmp_path)

    assert found.by_id == {one.id: newer, other.id: other}
    assert any("worse.json" in line for line in found.unreadable)
    assert any("huge.jsonl:1" in line for line in found.unreadable)


def test_a_place_without_fingerprints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoFingerprints, match="no such"):
        read(tmp_path / "nowhere")
    with pytest.raises(NoFingerprints, match="no fingerprint in any"):
        read(tmp_path)
