"""What is known of programs: which hand over to others, have subcommands, print little. Pure.

Fast path: imports nothing.
"""

from __future__ import annotations


def _words(text: str, mark: str | None = None) -> frozenset[str]:
    return frozenset(text.split(mark))


# Programs that hand over to the command behind them, and their options that take a word.
WRAPPERS = {
    "sudo": "-u -g -h -p -C -T -D -R",
    "doas": "-u -C",
    "time": "-f -o",
    "timeout": "-s -k --signal --kill-after",
    "gtimeout": "-s -k --signal --kill-after",
    "nice": "-n",
    "ionice": "-c -n -p",
    "env": "-u -C --unset --chdir",
    "xargs": "-n -P -I -L -d -s -a -E",
    "stdbuf": "-i -o -e",
    **dict.fromkeys(("nohup", "command", "exec", "builtin", "setsid", "unbuffer"), ""),
}
WITH_DURATION = ("timeout", "gtimeout")

# Words of the shell itself: those before a command, and those in place of one.
OPENING = ("do", "then", "else", "elif", "if", "while", "until", "{", "!", "coproc")
NO_COMMAND = ("for", "case", "select", "function", "done", "fi", "esac", "}", "[[", "$")

SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "fish")
INTERPRETERS = (*SHELLS, "node", "ruby", "perl", "php", "tsx", "ts-node", "Rscript", "java")
VALUE_OPTIONS = ("-X", "-W", "-r", "--require", "--loader", "--import", "-cp")
INLINE = ("-c", "-e", "--eval", "-p")

# What prints nothing or next to nothing, what prints little, and what only passes on less.
SILENT = _words(
    ". : [ alias cd chmod chown cp echo exit export false kill ln mkdir mv popd printf pushd pwd "
    "read return rm rmdir set shift sleep source test touch trap true type ulimit umask unset wait "
    "which"
)
LIGHT = _words("date df du file hostname ls stat uname wc whoami")
LIGHT_PATTERNS = _words(
    "git add|git branch|git checkout|git commit|git fetch|git pull|git push|git stash|git status|"
    "git switch",
    "|",
)
FILTERS = _words(
    "awk cat column cut egrep fgrep fold gawk grep head jq less more nl rev rg sed sort tac tail "
    "tee tr uniq wc xargs yq"
)

# Programs whose first words say what they do, with the options before them that take a word.
WITH_SUBCOMMANDS = {
    "git": "-C -c --git-dir --work-tree",
    "npm": "--prefix -w --workspace",
    "pnpm": "-C --dir -F --filter",
    "yarn": "--cwd",
    "docker": "-H --host -c --context -f --file -p --project-name --profile",
    "podman": "-f --file",
    "kubectl": "-n --namespace --context --kubeconfig -s",
    "helm": "-n --namespace --kube-context",
    "make": "-C -f -I -o -W",
    "gmake": "-C -f -I -o -W",
    "go": "-C",
    "gh": "-R --repo",
    "aws": "--profile --region --output --endpoint-url",
    "gcloud": "--project --account --format",
    "az": "--subscription --output",
    "mvn": "-f -pl -P -s",
    "./mvnw": "-f -pl -P -s",
    "gradle": "-p -b -c",
    "./gradlew": "-p -b -c",
    "uv": "--directory --project -p --python",
    "poetry": "-C --directory -P --project",
    **dict.fromkeys(
        _words(
            "apt apt-get bazel brew bun bundle cabal cargo composer conda deno dotnet flutter "
            "hatch just mise mix nix nx pip pip3 pipenv rails rake rustup rye stack swift "
            "systemctl task terraform tofu turbo"
        ),
        "",
    ),
}
TWO_WORDS = ("gh", "aws", "gcloud", "az")
TAKING_ANOTHER = _words(
    "npm run|npm run-script|pnpm run|yarn run|bun run|docker compose|docker image|docker container|"
    "docker network|docker volume|docker system|docker buildx|podman compose|go mod|go tool|"
    "yarn workspace|deno task|mise run|turbo run|uv pip|uv tool|nix flake",
    "|",
)

# Programs that run another one, which is what counts.
RUNNERS = ("npx", "bunx", "uvx", "pnpx")
HANDING_OVER = _words(
    "uv run|poetry run|pipenv run|hatch run|rye run|conda run|mise exec|bundle exec|pnpm exec|"
    "pnpm dlx|yarn dlx|bun x|npm exec",
    "|",
)
