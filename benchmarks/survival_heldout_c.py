"""A last set of facts as people phrase them, from other trades, in a noisier session.

Written once the rules of extraction were settled; see `survival_heldout`.
"""

from __future__ import annotations

USER, ASSISTANT, LIST = "user", "assistant", "list"

POOLS: dict[str, tuple[str, ...]] = {
    "model": (
        *("churn-net", "the ranker", "voice-small", "ocr-v4", "fraud-tree", "the embedder"),
        *("demand-lstm", "pose-lite", "the reranker", "spam-gate", "tagger-xl", "route-gnn"),
    ),
    "data": (
        *("clicks_2025", "the holdout split", "gold_labels", "sensor_raw", "eval_de", "survey_w7"),
        *("train_shard_04", "the Basel cohort", "night_runs", "returns_q3", "pilot_users"),
    ),
    "screen": (
        *("the onboarding flow", "the cart screen", "settings", "the map view", "the paywall"),
        *("the login sheet", "the profile tab", "push opt-in", "the camera overlay", "search"),
    ),
    "way": (
        *("cosine annealing", "LoRA adapters", "a linear probe", "Jetpack Compose", "SwiftUI"),
        *("gradient checkpointing", "stratified folds", "a bloom filter", "Core Data", "MobX"),
        *("quantile loss", "beam search", "a sliding window", "Riverpod", "fp8 weights", "DuckDB"),
    ),
    "notway": (
        *("SMOTE", "early stopping", "React Native", "a GAN", "one-hot encoding", "Realm"),
        *("k-means", "XGBoost", "Firebase", "storyboards", "PCA", "Flutter", "label smoothing"),
        *("a webview", "AutoML", "batch norm", "Redux", "UIKit"),
    ),
    "chore": (
        *("retrain {model} on {data}", "rerun the ablation for {model}", "relabel {data} by hand"),
        *("write the model card of {model}", "localise {screen}", "add a skeleton to {screen}"),
        *("profile {screen} on old phones", "deduplicate {data}", "export {model} to ONNX"),
        *("check {data} for leakage", "record a demo of {screen}", "calibrate {model}"),
        *("draw new icons for {screen}", "shrink the checkpoint of {model}", "archive {data}"),
    ),
    "spot": (
        *(
            "gs://lab-{word}/runs/final",
            "notebooks/{word}/eda.ipynb",
            "ios/{word}/Sources/Cart.swift",
        ),
        *(
            "/data/scratch/{word}/feats.parquet",
            "conf/{word}/sweep.yaml",
            "s3://{word}-eu/raw/2026/",
        ),
        *("android/app/src/main/java/{word}/Gate.kt", "models/{word}/tokenizer.json"),
    ),
    "why": (
        *(
            "it overfits on short rows",
            "the battery drains",
            "reviewers hated it",
            "it is not legal here",
        ),
        *("the store rejected it twice", "it hides the outliers", "nobody could reproduce it"),
        *("it eats all the memory", "it flickers on dark mode", "the loss never settled"),
    ),
}

FACTS = {
    "constraint": (
        (USER, "so that's clear: [[{data} stays untouched]]"),
        (USER, "I need you to [[stay clear of {screen}]], design is on it"),
        (USER, "please no [[GPU jobs on {data}]] during office hours"),
        (USER, "we're not permitted to [[ship {model} outside the lab]]"),
        (
            USER,
            "It would be bad if [[{data} ended up in the training set]]. Don't let that happen.",
        ),
        (USER, "hold your horses with [[{screen}]] till {person} has signed"),
        (USER, "everything you log has to be [[anonymised, also {data}]]"),
        (USER, "if in doubt about [[{model}]], ask, dont assume"),
        (USER, "remember our deal: [[seed {n} for every run]]"),
        (USER, "Please do only use [[{data}]] for the tests."),
        (USER, "You shall not [[round the metrics of {model}]]."),
        (USER, "the app must not grow beyond [[{small} MB]]"),
        (LIST, "[[{screen}]] is {person}'s, keep out"),
        (LIST, "don't quote [[{data}]] anywhere"),
    ),
    "decision": (
        (USER, "I'm fine with [[{way} for {screen}]], do that"),
        (USER, "let it be [[{way}]] for {model} then"),
        (USER, "we'll live with [[{way}]] in {screen}"),
        (USER, "{person} convinced me: [[{way} for {model}]]"),
        (USER, "go [[{way}]] on {screen}"),
        (ASSISTANT, "We therefore train {model} with [[{way}]]."),
        (ASSISTANT, "I settled the question: [[{model} gets {way}]]."),
        (ASSISTANT, "The plan is now [[{way} for {screen}]], as you asked."),
        (ASSISTANT, "{model} is going to use [[{way}]] because it is cheap."),
        (ASSISTANT, "Choosing [[{way}]] for {screen}: it is what the team knows."),
    ),
    "rejected": (
        (USER, "[[{notway}]] is a dead horse, {why}"),
        (USER, "please spare me [[{notway}]], {why}"),
        (USER, "we said goodbye to [[{notway} for {model}]] in spring: {why}"),
        (USER, "{why}, that's why we don't do [[{notway}]]"),
        (USER, "I'm against [[{notway} in {screen}]]."),
        (ASSISTANT, "I dropped [[{notway} for {model}]]: {why}."),
        (ASSISTANT, "[[{notway}]] did not help {model}, {why}."),
        (ASSISTANT, "Ruling out [[{notway} for {screen}]], since {why}."),
        (ASSISTANT, "Unlike before I no longer consider [[{notway} for {model}]]: {why}."),
    ),
    "task": (
        (USER, "sometime this week: [[{chore}]]"),
        (USER, "we haven't done this yet: [[{chore}]]"),
        (USER, "would you mind to [[{chore}]] at the end?"),
        (USER, "keep on the radar: [[{chore}]]"),
        (USER, "the next step would be to [[{chore}]]"),
        (USER, "what is missing is to [[{chore}]]"),
        (USER, "after lunch I'd like you to [[{chore}]]"),
        (ASSISTANT, "Two things are left, the first is to [[{chore}]]."),
        (ASSISTANT, "I postponed one part: [[{chore}]]."),
        ("task_create", "[[{chore}]]"),
        ("task_create", "[[{chore}]]"),
        ("todo", "[[{chore}]]"),
    ),
    "path": (
        (USER, "weights: [[{spot}]]"),
        (USER, "you'll need [[{spot}]] for that"),
        (USER, "{person} put everything into [[{spot}]]"),
        (ASSISTANT, "The culprit sits in [[{spot}]]."),
        (ASSISTANT, "I wrote the figures to [[{spot}]]."),
        (ASSISTANT, "See [[{spot}]] for the numbers."),
        ("edit", "[[/home/dev/project/{spot}]]"),
    ),
    "number": (
        (USER, "baseline to beat: [[{ratio} AUC]]"),
        (USER, "batch of [[{n}]] fits, more does not"),
        (USER, "we pay [[{small} cents per call]]"),
        (USER, "the study has [[{n} participants]]"),
        (USER, "build [[{n}]] is the one in the store"),
        (ASSISTANT, "Best run so far: [[{ratio} at step {n}]]."),
        (ASSISTANT, "Inference takes [[{small} ms]] per image on the old phone."),
        (ASSISTANT, "The run id is [[{sha}]]."),
    ),
    "error": (
        ("bash_error", "[[RuntimeError: CUDA out of memory. Tried to allocate {n}.00 MiB]]"),
        ("bash_error", "[[shape mismatch: expected ({small}, {n}), found (1, {n})]]"),
        ("bash_error", "[[error: no such module '{word}Kit']]"),
        ("bash_error", "[[ModuleNotFoundError: No module named '{word}_utils']]"),
        ("bash_error", '[[Provisioning profile "{word} Beta" has expired]]'),
        ("bash_error", "[[NaN in loss at step {n}]]"),
        (USER, "the phone shows [[code 0x{sha}]] and restarts"),
        (ASSISTANT, "Gradle stops with [[Duplicate class {word}.Gate found in modules]]."),
    ),
    "subagent": (
        ("agent_short", "[[{data} has {n} duplicates, mostly from week {small}.]]"),
        ("agent_short", "[[{screen} drops to {small} fps when the list is long.]]"),
        ("agent_long", "Removing {notway} changed the score by [[{ratio} points on {data}]]."),
        ("agent_long", "The bug is reproducible with [[{spot}, row {n}]]."),
        ("agent_long", "It turned out that [[{model} was trained on {data}]] as well."),
        ("notification", "Only [[{small} of {n} labels]] agree with the second annotator."),
    ),
}

ENDED = (
    ("task_create", "[[{chore}]]", "task_completed", ""),
    ("task_create", "[[{chore}]]", "task_deleted", ""),
    ("todo", "[[{chore}]]", "todo_completed", ""),
    (USER, "todo for later: [[{chore}]]", ASSISTANT, "The following is finished: {chore}."),
    (USER, "we also have to [[{chore}]]", USER, "we no longer have to {chore}"),
    (USER, "next, [[{chore}]]", ASSISTANT, "That is done now: {chore}."),
    (USER, "please [[{chore}]] later", USER, "{person} will {chore}, take it off your list"),
    (USER, "don't forget: [[{chore}]]", USER, "{chore}: cancelled"),
    (USER, "still open: [[{chore}]]", ASSISTANT, "Completed: {chore}."),
    (USER, "Don't [[release {screen}]] before I say so", USER, "you can release {screen} now"),
)
