"""Settings from files and environment: precedence, honest complaints, careful changes."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline import __version__
from brimline.errors import ConfigError
from brimline.fast import paths, policy
from brimline.settings import config, stamps
from brimline.settings.catalogue import SETTINGS, Setting
from brimline.settings.config import _MOST_BYTES

tables = st.sampled_from(
    ["", "# first line\n", "context_window = 5000 # mine\n", 'store = { max_mb = "x" }\n']
)
sections = st.lists(
    st.sampled_from(
        [
            "[guard]\n# quiet please\npreset = 'off'\n",
            "[guard.deeper]\nz = 1\n",
            "[other]\r\na = [1,\r\n 2] # list\r\n",
            "[[many]]\nb = 1\n\n[[many]]\nb = 2\n",
        ]
    ),
    unique=True,
    max_size=4,
)
# A text and what it means, by kind of setting; each differs from every default.
by_kind: dict[str, tuple[str, Any]] = {
    "tokens": ("1_000_000", 1_000_000),
    "numbers": ("40,20,10.5,5", [40, 20, 10.5, 5]),
    "number": ("2.5", 2.5),
    "percent": ("2.5", 2.5),
    "count": ("12", 12),
    "flag": ("on", True),
    "texts": ("one, two", ["one", "two"]),
    "folders": ("/one, ~/two", ["/one", "~/two"]),
    "path": ("~/notes.md", "~/notes.md"),
    "url": ("qdrant+http://host/team", "qdrant+http://host/team"),
}
samples = {
    setting.key: by_kind.get(setting.kind) or (setting.choices[-1], setting.choices[-1])
    for setting in SETTINGS
} | {
    "statusline.format": ("used, cost", ["used", "cost"]),
    "guard.gate_tools": ("Agent, Task:warn", ["Agent", "Task:warn"]),
}


@pytest.mark.row("S3-29")
def test_stronger_sources_win(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defaults, user file, environment: each later one overrides key by key."""
    _user(home_dir, 'context_window = 1000\nguard.preset = "off"\n')
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "3000")

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["context_window"] == 3_000
    assert loaded.values["guard.preset"] == "off"
    assert loaded.sources["context_window"] == "environment (BRIMLINE_CONTEXT_WINDOW)"
    assert loaded.sources["guard.preset"] == "user"
    assert loaded.sources["store.max_mb"] == "default"
    assert loaded.problems == []


@pytest.mark.row("S0-33", "S1-17", "S4-13")
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_can_be_set_in_every_way(
    setting: Setting, home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By command into the user's file, and by its variable, where it has one."""
    text, value = samples[setting.key]

    config.write_setting(paths.user_config(home_dir), setting.key, text)
    assert config.load(home_dir, project_dir).values[setting.key] == value

    Path(paths.user_config(home_dir)).unlink()
    monkeypatch.setenv(setting.variable, text)
    loaded = config.load(home_dir, project_dir)
    if not setting.project:
        assert loaded.values[setting.key] == setting.default
        told = f"{setting.variable} is ignored: only the user's file can set {setting.key}"
        assert loaded.problems == [told]
        return
    assert loaded.values[setting.key] == value
    assert loaded.sources[setting.key] == f"environment ({setting.variable})"
    assert policy.load(home_dir, project_dir).values[setting.key] == value


def test_the_variables_of_a_presets_source_change_its_settings(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which settings were changed so is told; without the environment none is."""
    monkeypatch.setenv("DEV_TEAM_CONTEXT_CEILING_PCT", "35")
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "adr11")
    config.write_setting(paths.user_config(home_dir), "guard.preset", "adr11")

    with_it = config.load(home_dir, project_dir)
    without = config.load(home_dir, project_dir, environment=False)

    own = "environment (the preset's own variables)"
    assert with_it.values["guard.ceiling_percent"] == 35
    assert [key for key, source in with_it.sources.items() if source == own] == [
        "guard.ceiling_percent"
    ]
    assert without.values["guard.ceiling_percent"] != 35
    assert own not in without.sources.values()


def test_a_preset_from_the_environment_replaces_the_one_in_the_file(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the weaker preset is left over, in commands and in hooks alike."""
    _user(home_dir, '[guard]\npreset = "haios-80"\nvelocity_points = 3\n')
    config.compile_policy(home_dir, project_dir)
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "default")

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["guard.tiers"] == [30, 15, 7, 3]
    assert loaded.values["guard.tier_unit"] == "to_compaction"
    assert loaded.values["guard.velocity_points"] == 3
    assert policy.load(home_dir, project_dir).values == loaded.values


@pytest.mark.row("S0-15")
def test_a_wrong_value_keeps_the_weaker_one_and_is_reported(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing stops, nothing takes effect, and the complaint names file, key and value."""
    _user(home_dir, "context_window = 'big'\ncompaction_tokens = 150000\n[guard]\ntiers = 5\n")
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "loud")

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["context_window"] is None
    assert loaded.values["compaction_tokens"] == 150_000
    assert loaded.values["guard.tiers"] == [30, 15, 7, 3]
    assert loaded.values["guard.preset"] == "default"
    assert len(loaded.problems) == 3
    assert "context_window takes a whole number of tokens, 1,000 or above" in loaded.problems[0]
    assert loaded.problems[0].startswith(paths.user_config(home_dir))
    assert "'default' stays in force" in loaded.problems[2]


def test_a_project_moves_thresholds_only_and_by_variables(home_dir: str, project_dir: str) -> None:
    """Of a file, which earlier versions read, the remedy is told."""
    former = f"{project_dir}/.claude/brimline.toml"
    _write(former, "context_window = 7000\n")

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["context_window"] is None
    (problem,) = loaded.problems
    assert problem.startswith(f"{former} is not read any more: a project's `env` in Claude Code's")
    assert {setting.key.partition(".")[0] for setting in SETTINGS if setting.project} == {
        *("context_window", "compaction_tokens", "guard", "offload")
    }


@pytest.mark.parametrize(
    "content",
    [b"x = [1,", b"\xff\xfe", b"a = 1\na = 2\n", b"[" * 5_000, b".".join([b"a"] * 5_000) + b" = 1"],
    ids=["cut off", "no UTF-8", "twice", "nested", "deep key"],
)
def test_a_broken_file_is_only_reported(
    content: bytes, home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other sources still count."""
    _user(home_dir, "")
    Path(paths.user_config(home_dir)).write_bytes(content)
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "5000")

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["context_window"] == 5_000
    (problem,) = loaded.problems
    told = "is ignored, with all that it sets, until it is mended: "
    assert problem.startswith(f"{paths.user_config(home_dir)} {told}")
    assert loaded.values["memory.exclude"] is None, "what is private is not known"


def test_where_what_is_excluded_is_not_understood_it_is_not_known(
    home_dir: str, project_dir: str
) -> None:
    """The good part of a list would leave the rest to be read."""
    _user(home_dir, '[memory]\nexclude = ["/private", "clients"]\n')

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["memory.exclude"] is None
    assert "memory.exclude" in loaded.problems[0]


def test_unknown_settings_are_named(home_dir: str, project_dir: str) -> None:
    """With the nearest name, where there is one; beside them the others still count."""
    _user(home_dir, "zq0 = 1\ncontext_windw = 1\ncontext_window = 5000\n")

    loaded = config.load(home_dir, project_dir)

    path = paths.user_config(home_dir)
    assert loaded.problems == [
        f"{path}: unknown setting 'zq0'",
        f"{path}: unknown setting 'context_windw'; did you mean context_window?",
    ]
    assert loaded.values["context_window"] == 5_000


@pytest.mark.parametrize(("size", "problems"), [(_MOST_BYTES, 0), (_MOST_BYTES + 1, 1)])
def test_a_large_users_file_is_not_read(size: int, problems: int, home_dir: str) -> None:
    """It is named."""
    _user(home_dir, "#" * size)

    found = config.load(home_dir, home_dir).problems

    assert len(found) == problems
    assert all(
        told.endswith(f"until it is mended: it is larger than {_MOST_BYTES >> 10} KB")
        for told in found
    )


def test_the_environment_is_told_of_names_that_are_no_settings(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty variable says nothing; an address in a complaint is not shown, it may hold a key."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESETT", "off")
    monkeypatch.setenv("BRIMLINE_CONTEXT_WINDOW", "")
    _user(home_dir, '[memory]\nurl = "https://secret@host"\n')

    loaded = config.load(home_dir, project_dir)

    address, name = loaded.problems
    nearest = "BRIMLINE_GUARD_PRESET"
    assert name == f"the environment: {nearest}T is not a setting; did you mean {nearest}?"
    assert "memory.url takes an address" in address
    assert "not this; None stays in force" in address
    assert loaded.sources["context_window"] == "default"


@pytest.mark.parametrize("kind", ["folder", "pipe", "endless device", "link to nowhere"])
def test_what_is_no_regular_file_is_reported(kind: str, home_dir: str, project_dir: str) -> None:
    """Nothing makes us wait or read for ever."""
    path = Path(paths.user_config(home_dir))
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "endless device" else "/no/where")

    loaded = config.load(home_dir, project_dir)

    (problem,) = loaded.problems
    assert problem.endswith("until it is mended: it is not a regular file")
    with pytest.raises(ConfigError, match="not a regular file"):
        config.write_setting(str(path), "guard.preset", "off")


@given(
    top=tables,
    rest=sections,
    key=st.sampled_from(sorted(samples)),
)
@settings(max_examples=120)
def test_a_change_touches_one_value_only(top: str, rest: list[str], key: str, world: Path) -> None:
    """Every other value, every comment and every line end of the file is still there."""
    path = world / "config.toml"
    path.write_bytes((top + "".join(rest)).encode())
    before = tomllib.loads(path.read_bytes().decode())
    lines = path.read_bytes().decode().splitlines(keepends=True)

    config.write_setting(str(path), key, samples[key][0])

    after = tomllib.loads(path.read_bytes().decode())
    *parents, name = key.split(".")
    for document in (before, after):
        table = document
        for parent in parents:
            table = table.setdefault(parent, {})
        assert document is before or table[name] == samples[key][1]
        table.pop(name, None)
    assert after == before
    changed = [line for line in lines if line not in path.read_bytes().decode()]
    assert len(changed) <= 1


@pytest.mark.parametrize("content", ["guard = 5\n", "[[guard]]\na = 1\n", "x = [1,", "a=1\na=2\n"])
def test_a_file_that_cannot_be_changed_stays_as_it_is(content: str, home_dir: str) -> None:
    """Broken or contrary files are left alone, and named."""
    _user(home_dir, content)
    path = paths.user_config(home_dir)

    with pytest.raises(ConfigError, match=f"cannot change {path}"):
        config.write_setting(path, "guard.preset", "off")

    assert Path(path).read_text(encoding="utf-8") == content
    assert os.listdir(home_dir) == ["config.toml"]


def test_a_link_of_the_users_is_followed(home_dir: str, world: Path) -> None:
    """Dotfiles stay linked."""
    target, path = world / "target.toml", Path(paths.user_config(home_dir))
    target.write_text("context_window = 5000\n")
    path.parent.mkdir()
    path.symlink_to(target)

    config.write_setting(str(path), "context_window", "6000")

    assert path.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text() == "context_window = 6000\n"


def test_what_is_taken_out_leaves_no_empty_table(home_dir: str) -> None:
    """Says whether it was there; other settings stay as they are."""
    path = paths.user_config(home_dir)
    config.write_setting(path, "guard.preset", "off")
    config.write_setting(path, "guard.velocity_points", "2")
    config.write_setting(path, "context_window", "6000")

    assert config.remove_setting(path, "guard.preset") is True
    assert config.remove_setting(path, "guard.preset") is False
    assert config.remove_setting(path, "carry.enabled") is False
    left = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    assert left == {"guard": {"velocity_points": 2.0}, "context_window": 6000}
    assert config.remove_setting(path, "guard.velocity_points") is True
    assert tomllib.loads(Path(path).read_text(encoding="utf-8")) == {"context_window": 6000}
    assert config.remove_setting(path, "context_window") is True
    assert Path(path).read_text(encoding="utf-8").strip() == ""


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("guard.prest", "; did you mean guard.preset?"),
        ("zzz", "; `brimline config list` has them all"),
    ],
)
def test_a_setting_that_there_is_not_is_named_with_the_nearest(key: str, hint: str) -> None:
    """Whoever is far off is told where the list is."""
    with pytest.raises(ConfigError) as raised:
        config.find_setting(key)

    assert str(raised.value) == f"there is no setting {key!r}{hint}"


def _refresh(home_dir: str, project_dir: str) -> None:
    """What a session's start does."""
    if stamps.is_policy_file_stale(home_dir, project_dir):
        config.compile_policy(home_dir, project_dir)


def test_a_refresh_compiles_only_after_a_change(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unchanged policy is not written again; whoever compiles adds no variable of their own."""
    monkeypatch.setenv("BRIMLINE_GUARD_PRESET", "off")
    _refresh(home_dir, project_dir)
    compiled = Path(paths.policy_file(home_dir, project_dir))
    first = compiled.stat().st_ino

    _refresh(home_dir, project_dir)
    assert compiled.stat().st_ino == first

    for path, text in (
        (paths.user_config(home_dir), "context_window = 5000\n"),
        (f"{project_dir}/.claude/settings.json", '{"autoCompactWindow": 3}'),
    ):
        before = compiled.read_bytes()
        _write(path, text)
        _refresh(home_dir, project_dir)
        assert compiled.read_bytes() != before

    monkeypatch.delenv("BRIMLINE_GUARD_PRESET")
    loaded = policy.load(home_dir, project_dir)
    assert loaded.values["guard.preset"] == "default"
    assert loaded.values["context_window"] == 5_000
    assert loaded.client["autocompact_window"] == 3

    Path(paths.user_config(home_dir)).unlink()
    _refresh(home_dir, project_dir)
    assert policy.load(home_dir, project_dir).values["context_window"] is None


def test_a_refresh_compiles_after_an_upgrade(home_dir: str, project_dir: str) -> None:
    """Defaults that another version compiled in do not outlive it."""
    config.compile_policy(home_dir, project_dir)
    compiled = Path(paths.policy_file(home_dir, project_dir))
    older = compiled.read_text().replace(f'"{__version__}"', '"0.0.1"')
    compiled.write_text(older.replace("[30,15,7,3]", "[50,40,30,20]"))

    assert policy.load(home_dir, project_dir).values["guard.tiers"] == [50, 40, 30, 20]
    _refresh(home_dir, project_dir)

    assert policy.load(home_dir, project_dir).values["guard.tiers"] == [30, 15, 7, 3]


def _user(home_dir: str, text: str) -> None:
    _write(paths.user_config(home_dir), text)


def _write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode())


def test_falling_tiers_do_not_reach_a_preset_that_counts_upwards(
    home_dir: str, project_dir: str
) -> None:
    """Thresholds of the usual unit would make such a preset speak at once; the problem is named."""
    _user(home_dir, '[guard]\ntiers = [20, 10, 5, 2]\npreset = "haios-80"\n')

    loaded = config.load(home_dir, project_dir)

    assert loaded.values["guard.tiers"] == [80]
    assert loaded.problems == [
        "guard.tiers is not used: preset haios-80 counts in another unit; set guard.tier_unit too"
    ]


@pytest.mark.parametrize(
    ("guard", "tiers"),
    [
        ("tiers = [85]", [85]),
        ("tiers = [70, 85]", [70, 85]),
        ("tiers = [20, 10]\ntier_unit = 'to_compaction'", [20, 10]),
        ("velocity_points = 2", [80]),
    ],
)
def test_tiers_that_fit_a_preset_are_kept(
    guard: str, tiers: list[int], home_dir: str, project_dir: str
) -> None:
    """Rising ones, a single one, or those whose unit is named too."""
    _user(home_dir, f'[guard]\npreset = "haios-80"\n{guard}\n')

    loaded = config.load(home_dir, project_dir)

    assert (loaded.values["guard.tiers"], loaded.problems) == (tiers, [])


def test_what_is_no_setting_cannot_be_taken_out(home_dir: str) -> None:
    """It is named, and nothing is written."""
    with pytest.raises(ConfigError, match=r"there is no setting 'guard\.prest'; did you mean"):
        config.remove_setting(paths.user_config(home_dir), "guard.prest")

    assert not os.path.exists(paths.user_config(home_dir))
