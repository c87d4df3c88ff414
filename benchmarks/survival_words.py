"""What the facts of the survival test are made of: names, places, reasons and pieces of work."""

from __future__ import annotations

import random

POOLS: dict[str, tuple[str, ...]] = {
    "svc": (
        *("billing-api", "ledger-sync", "tile-cache", "auth-proxy", "geo-index", "mail-relay"),
        *("quota-svc", "pdf-render", "fleet-hub", "invoice-bot", "search-edge", "media-tap"),
        *("importer-x", "cron-runner", "checkout-gw", "stock-feed", "label-printer", "sms-out"),
    ),
    "dir": (
        *("services/legacy/", "infra/terraform/", "vendor/zlib/", "packages/kiosk/"),
        *("db/seeds/", "apps/admin/", "lib/crypto/", "tools/codegen/", "proto/v1/"),
        *("themes/classic/", "plugins/export/", "core/pricing/", "ops/ansible/"),
        *("web/static/fonts/", "src/compat/"),
    ),
    "table": (
        *("billing_events", "audit_trail", "tenant_map", "price_history", "user_consents"),
        *("stock_moves", "mail_queue", "api_tokens", "refund_log", "device_sessions"),
        *("tax_rates", "order_lines", "shard_index", "ledger_entries", "geo_fences"),
        *("voucher_codes",),
    ),
    "file": (
        *("config/routes.yml", "scripts/deploy.sh", "Dockerfile.prod", "schema.graphql"),
        *("src/boot/loader.ts", "pom.xml", "app/settings.py", "charts/values.yaml"),
        *("lib/clock.rb", "cmd/agent/main.go", "webpack.config.js", "conf/nginx.conf"),
        *("migrations/0042_split.sql", "include/ring.h", "tests/golden/report.json"),
        *("openapi.yaml", ".github/workflows/ci.yml"),
    ),
    "branch": (
        *("release/24.3", "main", "hotfix-payments", "develop", "customer/acme", "lts-7"),
        *("trunk", "stable-2.x", "gh-pages", "release/9"),
    ),
    "person": (
        *("Petra", "Tomas", "Ines", "Kofi", "Mei", "Anselm", "Ruth", "Jorge", "Yuki", "Leila"),
        *("Bram", "Sanne", "Otto", "Farah", "Nadia", "Piotr"),
    ),
    "lib": (
        *("pydantic", "lodash", "sqlx", "tokio", "zod", "celery", "moment", "axios", "protobuf"),
        *("numpy", "django", "express", "hibernate", "guava", "serde", "sidekiq", "openssl"),
    ),
    "env": (
        *("PAYMENT_GATEWAY_URL", "FEATURE_NEW_CART", "SMTP_RELAY_HOST", "JWT_AUDIENCE"),
        *("CACHE_NAMESPACE", "TILE_BUCKET", "SENTRY_SAMPLE", "LEDGER_REGION", "MAX_UPLOAD_MB"),
    ),
    "cmd": (
        *("make reset-db", "terraform apply", "npm audit fix", "git clean -fdx"),
        *("alembic downgrade", "kubectl delete", "rake db:purge", "cargo update"),
        *("docker system prune", "flyway repair"),
    ),
    "thing": (
        *("the job queue", "session storage", "feature flags", "the audit log"),
        *("full-text search", "rate limiting", "the config format", "PDF generation"),
        *("image resizing", "the retry policy", "the admin login", "report caching"),
        *("schema validation", "the event bus", "localisation", "secrets handling"),
        *("the import pipeline", "time zone handling", "the diff view", "metrics"),
        *("the mobile sync", "tenant isolation", "invoice numbering", "webhook signing"),
        *("backups",),
    ),
    "chosen": (
        *("Postgres advisory locks", "RabbitMQ", "signed cookies", "SQLite in WAL mode"),
        *("Meilisearch", "a token bucket in Redis", "plain TOML", "WeasyPrint", "libvips"),
        *("capped exponential backoff", "OIDC through Keycloak", "an LRU of 500 entries"),
        *("JSON Schema draft 2020-12", "NATS JetStream", "gettext catalogues"),
        *("age-encrypted files", "a two-phase loader", "UTC everywhere", "a Myers diff"),
        *("OpenTelemetry counters", "CRDT deltas", "row level security", "ULIDs"),
        *("HMAC-SHA256 with rotation", "nightly restic snapshots", "server-sent events", "gRPC"),
    ),
    "refused": (
        *("Kafka", "Elasticsearch", "MongoDB", "a cron job per tenant", "LocalStorage", "XSLT"),
        *("ImageMagick", "Memcached", "a hand-written parser", "polling every minute"),
        *("GraphQL", "YAML anchors", "wkhtmltopdf", "Vault", "a monorepo split", "WebSockets"),
        *("Lambda", "stored procedures", "an ORM migration", "Consul", "protobuf over HTTP"),
        *("a fork of the SDK", "serverless functions", "DynamoDB", "a Perl wrapper"),
        *("Puppeteer", "sharding by country"),
    ),
    "reason": (
        *("it has no transactions", "the licence changed", "we cannot run it on the edge boxes"),
        *("it doubled the memory", "nobody here can operate it", "the client library is dead"),
        *("it needs a JVM", "it loses order under load", "it would tie us to one cloud"),
        *("restarts took minutes", "the audit would take months", "it broke on Windows"),
        *("latency went through the roof", "it leaks file handles", "support ends next year"),
    ),
    "good": (
        *("it is already running in two regions", "operations knows it"),
        *("it needs no extra service", "it is the simplest thing that holds"),
        *("it survived the load test", "it is half the code", "it keeps the data in one place"),
        *("the tests stay fast", "it is boring and proven"),
    ),
    "work": (
        *("write the rollback script for {table}", "add an index on {table}.created_at"),
        *("port {svc} to the new logger", "document {env} in the runbook"),
        *("replace the fixtures in tests/{table}", "bump {lib} and rerun the smoke tests"),
        *("rename {table} to {table}_v2", "move {file} under config/", "delete the flag {env}"),
        *("wire {svc} into the health check", "backfill {table} for closed accounts"),
        *("split {file} in two", "add a dry-run switch to {svc}"),
        *("translate the {svc} error pages", "measure cold starts of {svc}"),
        *("tighten the types in {file}", "cover {file} with tests"),
        *("ask {person} for the {svc} dashboards", "write a migration guide for {lib}"),
        *("clean up the TODOs in {file}", "add pagination to the {table} endpoint"),
    ),
    "place": (
        *("/srv/data/{word}/incoming", "/var/log/{word}/worker.log"),
        *("/etc/{word}/limits.d/40-app.conf", "~/.config/{word}/profile.toml"),
        *("/opt/{word}/bin/run-nightly", "deploy/{word}/values.prod.yaml"),
        *("internal/{word}/reconcile.go", "src/{word}/adapters/fallback.py"),
        *("app/{word}/hooks/useQuota.ts", "/mnt/nas/{word}/exports/2026"),
        *("crates/{word}/src/decoder.rs", "docs/{word}/adr-017.md"),
    ),
    "word": (
        *("harbor", "quartz", "lumen", "tundra", "cobalt", "meadow", "raven", "saffron"),
        *("pivot", "ember", "glacier", "orchid", "falcon", "nimbus", "juniper", "basalt"),
        *("willow", "cinder", "delta", "maple", "onyx", "prism", "sable", "topaz", "umber"),
        *("velvet", "zephyr", "krill"),
    ),
    "region": (
        "eu-central-1",
        "Frankfurt",
        "the EU",
        "Zurich",
        "ap-south-2",
        "our own data centre",
    ),
    "field": ("IBANs", "session tokens", "email addresses", "birth dates", "raw card numbers"),
    "when": (
        "Thursday",
        "the audit is through",
        "Monday morning",
        "the freeze ends",
        "end of March",
    ),
}

_BOARDS = ("OPS", "PAY", "WEB", "CORE")


class Slots:
    """Draws words for templates: within one session no word of a pool comes twice, if it can be."""

    def __init__(self, seed: int, more: dict[str, tuple[str, ...]] | None = None) -> None:
        """Draw from the common pools and, where given, from others."""
        self.random = random.Random(seed)
        self._pools = POOLS | (more or {})
        self._left: dict[str, list[str]] = {}
        self.used: set[str] = set()

    def fill(self, template: str, bound: dict[str, str] | None = None) -> str:
        """A template with every `{slot}` filled; one that comes twice is the same both times.

        Args:
            template: text with slots; `{short}` is `{work}` without its verb.
            bound: what slots were filled with; added to.
        """
        bound = {} if bound is None else bound
        start = template.find("{")
        while start >= 0:
            end = template.index("}", start)
            name = template[start + 1 : end]
            if name == "short":
                bound[name] = bound["work"].partition(" ")[2]
            elif name not in bound:
                # What a drawn text needs is its own: two pieces of work are not about one table.
                bound[name] = self.fill(self._draw(name), {})
            template = template[:start] + bound[name] + template[end + 1 :]
            start = template.find("{")
        return template

    def _draw(self, name: str) -> str:
        source = self.random
        figures = {
            "n": lambda: str(source.randint(211, 9_899)),
            "small": lambda: str(source.randint(12, 97)),
            "port": lambda: str(source.randint(2_049, 64_999)),
            "sha": lambda: f"{source.getrandbits(40):010x}",
            "ticket": lambda: f"{source.choice(_BOARDS)}-{source.randint(1_000, 9_999)}",
            "ver": lambda: (
                f"{source.randint(1, 19)}.{source.randint(0, 30)}.{source.randint(0, 9)}"
            ),
            "line": lambda: str(source.randint(40, 1_900)),
            "ratio": lambda: f"0.{source.randint(11, 98)}",
            "hex": lambda: f"0x{source.getrandbits(32):08x}",
        }
        if name in figures:
            return figures[name]()
        left = self._left.setdefault(name, [])
        if not left:
            left += self._pools[name]
            self.random.shuffle(left)
        return left.pop()
