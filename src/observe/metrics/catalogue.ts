/** A metric. The values of `labels` come from short, fixed lists: never a tenant, user, path, id or error text. */
export interface Definition<Label extends string = string> {
  kind: 'counter' | 'gauge' | 'histogram'
  name: string
  help: string
  labels: readonly Label[]
  /** Upper bounds of a histogram, in seconds. */
  buckets: readonly number[]
}

const define =
  <Kind extends Definition['kind']>(kind: Kind) =>
  <const Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
    buckets: readonly number[] = [],
  ): Definition<Label> & { kind: Kind } => ({ kind, name: `bailiwick_${name}`, help, labels, buckets })

const counter = define('counter')
const gauge = define('gauge')
const histogram = define('histogram')

const requests = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const decisions = [0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.001, 0.01]
const waits = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2, 4]
const hashes = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const jobs = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60]

/** Every metric of the service. docs/reference/metrics.md has the same table. */
export const catalogue = {
  buildInfo: gauge('build_info', 'Always 1; the labels contain the version and the policy revision', [
    'version',
    'policy_revision',
  ]),
  ready: gauge('ready', '1 when the process is ready (as /readyz reports), else 0'),
  sourceUp: gauge(
    'scrape_source_up',
    '1 when the source of some gauges answered in time; at 0 these gauges are left out',
    ['source'],
  ),
  httpDuration: histogram(
    'http_request_duration_seconds',
    'Duration until the answer to a request, by action (public routes by their operation id, `none` when no route matched) and status code',
    ['action', 'status'],
    requests,
  ),
  httpInFlight: gauge('http_requests_in_flight', 'Requests being answered'),
  decisions: counter(
    'decisions_total',
    'Decisions on requests and queries, by action (`application` for those of applications) and effect',
    ['action', 'effect'],
  ),
  decisionsDropped: counter(
    'decisions_dropped_total',
    'Decisions that should have been logged but were not, by effect and reason (daily_limit, backlog, failed)',
    ['effect', 'reason'],
  ),
  shadowDecisions: counter(
    'shadow_decisions_total',
    'Evaluations of policies in shadow mode, by what they would have done to the decision (would_deny, would_gate, would_allow, applied, none, error)',
    ['outcome'],
  ),
  decisionDuration: histogram(
    'decision_duration_seconds',
    'Duration of one evaluation of the policies; a request can need several',
    [],
    decisions,
  ),
  decisionFailures: counter(
    'decision_failures_total',
    'Evaluations without a valid answer; these requests were refused',
  ),
  modulesLate: counter(
    'modules_late_total',
    'Modules of policies without an answer in time, which denied, by reason (paused, not_ready, too_long, no_cpu, no_time, memory)',
    ['why'],
  ),
  moduleThreadsEnded: counter(
    'module_threads_ended_total',
    'Threads that had to end because a module took too long, also one that was only tried',
  ),
  policyHits: counter('policy_cache_hits_total', "Uses of a tenant's policies that were in memory"),
  policyMisses: counter('policy_cache_misses_total', "Uses of a tenant's policies that had to be read first"),
  hashDuration: histogram(
    'password_hash_duration_seconds',
    'Duration of one argon2id hash, without its wait',
    [],
    hashes,
  ),
  hashes: gauge(
    'password_hashes',
    'Current password hashes, by state (running, waiting, and expected: all sign-ins in progress)',
    ['state'],
  ),
  hashesMax: gauge('password_hashes_max', 'Limit of password hashes at a time, by state', ['state']),
  hashesRefused: counter(
    'password_hashes_refused_total',
    'Sign-ins refused with 503: too many hashes waited',
  ),
  dbConnections: gauge(
    'db_pool_connections',
    'Connections to Postgres, by pool (named for its role; `replica`: DATABASE_READ_URL) and state (busy, idle, connecting)',
    ['pool', 'state'],
  ),
  dbConnectionsMax: gauge('db_pool_connections_max', 'Limit of the connections of a pool', ['pool']),
  dbWaiting: gauge('db_pool_waiting', 'Callers that wait for a connection of a pool', ['pool']),
  dbWait: histogram(
    'db_pool_wait_seconds',
    'Wait for a connection; for transactions, until they begin',
    ['pool'],
    waits,
  ),
  dbRetries: counter('db_transaction_retries_total', 'Transactions repeated after a serialization failure', [
    'pool',
  ]),
  rateLimitRefusals: counter('rate_limit_refusals_total', 'Calls refused with 429, by limit', ['limit']),
  outboxWaiting: gauge(
    'outbox_waiting',
    'Messages in the outbox that are not on a queue yet (counted up to 100,000)',
  ),
  outboxAge: gauge(
    'outbox_oldest_age_seconds',
    'Age of the oldest message in the outbox that is not on a queue yet; 0 without one',
  ),
  queueJobs: gauge('queue_jobs', 'Jobs on a queue, by state (waiting, active, delayed)', ['queue', 'state']),
  queueLag: gauge(
    'queue_lag_seconds',
    'Age of the oldest job that waits on a queue, also for a retry after a failure; 0 without one',
    ['queue'],
  ),
  deadLetters: gauge('dead_letters', 'Messages that were given up (counted up to 100,000)', [
    'queue',
    'reason',
  ]),
  jobs: counter(
    'jobs_total',
    'Jobs handled, by actor and outcome (done, later, retry, dead, split: its messages come again, each by itself)',
    ['actor', 'outcome'],
  ),
  jobDuration: histogram('job_duration_seconds', 'Duration of one attempt at a job', ['actor'], jobs),
  mails: counter('mails_total', 'Attempts to send a mail to the mail server, by outcome (sent, failed)', [
    'outcome',
  ]),
  webhookAttempts: counter(
    'webhook_attempts_total',
    'Attempts to deliver to a webhook, by outcome (succeeded, refused, unreachable)',
    ['outcome'],
  ),
  webhookDuration: histogram(
    'webhook_duration_seconds',
    'Duration of one attempt to deliver to a webhook',
    [],
    requests,
  ),
  deliveriesDropped: counter(
    'webhook_deliveries_dropped_total',
    'Deliveries to webhooks that were not made because their tenant had reached LIMIT_DELIVERIES_PER_DAY',
  ),
  webhookCircuits: gauge('webhook_circuits_open', 'Webhooks that are paused because they failed too often'),
} satisfies Record<string, Definition>

export type Catalogue = typeof catalogue
export type MetricName = keyof Catalogue

/** The labels of a metric. */
export type LabelsOf<Name extends MetricName> = Catalogue[Name]['labels'][number]
