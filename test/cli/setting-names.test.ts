import t from 'tap'
import { callCli } from './run-cli.ts'

const start = (...names: string[]) =>
  callCli(['settings'], { env: Object.fromEntries(names.map((name) => [name, '1'])) })

t.test(
  'a variable that misspells a setting, or begins like one, stops the start and names the nearest',
  async (t) => {
    const wrong = {
      SMPT_URL: 'SMTP_URL',
      SMTPURL: 'SMTP_URL',
      smtp_url: 'SMTP_URL',
      SMPT_URL_FILE: 'SMTP_URL',
      REDIS_URI: 'REDIS_URL',
      PUBLC_URL: 'PUBLIC_URL',
      NODE_EVN: 'NODE_ENV',
      LOGLEVEL: 'LOG_LEVEL',
      DATABSE_API_URL: 'DATABASE_API_URL',
      EMAIL_FROM: 'MAIL_FROM',
      SECRET_KEY: 'SECRET_KEYS',
      TRUSTED_PROXY: 'TRUSTED_PROXIES',
      RATE_LIMIT_PER_USR: 'RATE_LIMIT_PER_USER',
      WEBHOOKS_ALLOW_PRIVATE: 'WEBHOOK_ALLOW_PRIVATE',
      OTEL_TRACE_SAMPLER: 'OTEL_TRACES_SAMPLER',
      OTP_REQUIRED_FOR_LOGN: 'OTP_REQUIRED_FOR_LOGIN',
      DATABASE_POOL_SIZES: 'DATABASE_POOL_SIZE',
    }
    const { code, said } = await start(...Object.keys(wrong))
    t.equal(code, 1)
    t.same(
      said.trim().split('\n').slice(1),
      Object.entries(wrong).map(
        ([name, meant]) =>
          `  - ${name} is not a setting of this service: check its spelling. Did you mean ${meant}?`,
      ),
    )
  },
)

t.test('a name that is near to no setting, but begins like some, is answered with these', async (t) => {
  t.match(
    (await start('SMTP_HOTS')).said,
    'SMTP_HOTS is not a setting of this service: check its spelling. Known are SMTP_URL, SMTP_REQUIRE_TLS.',
  )
})

t.test('the variables of machines, shells, containers, CI and other programs pass', async (t) => {
  for (const [name, env] of Object.entries(surroundings)) {
    const { code, said } = await callCli(['settings'], { env: { ...env } })
    t.equal(code, 0, `${name}: ${said}`)
  }
})

/** One variable for each name, with a value that does not matter. */
const set = (names: string) =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, 'x']),
  )

/** Of a Service called `smtp`, as the kubelet sets them (`enableServiceLinks`). */
const serviceLinks = (service: string, port: number) => ({
  [`${service}_SERVICE_HOST`]: '10.96.7.1',
  [`${service}_SERVICE_PORT`]: String(port),
  [`${service}_SERVICE_PORT_MAIN`]: String(port),
  [`${service}_PORT`]: `tcp://10.96.7.1:${port}`,
  [`${service}_PORT_${port}_TCP`]: `tcp://10.96.7.1:${port}`,
  [`${service}_PORT_${port}_TCP_PROTO`]: 'tcp',
  [`${service}_PORT_${port}_TCP_PORT`]: String(port),
  [`${service}_PORT_${port}_TCP_ADDR`]: '10.96.7.1',
})

const surroundings = {
  shell:
    set(`PATH HOME SHELL USER LOGNAME LANG LANGUAGE LC_ALL LC_CTYPE TERM COLORTERM PWD OLDPWD SHLVL EDITOR VISUAL PAGER
    LESS LESSOPEN LS_COLORS MAIL MANPATH INFOPATH CDPATH HOSTNAME HOSTTYPE OSTYPE MACHTYPE DISPLAY TMPDIR TZ SSH_AUTH_SOCK
    SSH_CLIENT SSH_CONNECTION SSH_TTY SUDO_USER SUDO_UID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR
    XDG_DATA_DIRS XDG_CONFIG_HOME XDG_CACHE_HOME XDG_SESSION_ID WINDOWID http_proxy https_proxy no_proxy HTTP_PROXY
    HTTPS_PROXY NO_PROXY ALL_PROXY DEBUG CI FORCE_COLOR NO_COLOR _`),
  languages:
    set(`GOPATH GOROOT GOBIN GOPROXY JAVA_HOME JAVA_OPTS CLASSPATH PYTHONPATH PYTHONUNBUFFERED VIRTUAL_ENV LUA_PATH
    LUA_CPATH RUBYOPT GEM_HOME CARGO_HOME RUSTUP_HOME LD_LIBRARY_PATH LD_PRELOAD PKG_CONFIG_PATH MALLOC_ARENA_MAX CC CXX`),
  node: set(`NODE NODE_EXE NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_VERSION NODE_COMPILE_CACHE NODENV_ROOT NODENV_DIR
    NVM_DIR NVM_BIN INIT_CWD YARN_VERSION COREPACK_HOME UV_THREADPOOL_SIZE npm_config_cache npm_config_loglevel
    npm_config_user_agent npm_config_registry npm_package_json npm_package_name npm_package_version npm_execpath
    npm_node_execpath npm_lifecycle_event npm_lifecycle_script npm_command npm_config_prefix NPM_CONFIG_LOGLEVEL`),
  systemd:
    set(`INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID NOTIFY_SOCKET WATCHDOG_USEC MAINPID LISTEN_FDNAMES STATE_DIRECTORY
    RUNTIME_DIRECTORY CACHE_DIRECTORY LOGS_DIRECTORY CONFIGURATION_DIRECTORY CREDENTIALS_DIRECTORY MEMORY_PRESSURE_WATCH`),
  kubernetes: {
    ...set(`POD_NAME POD_NAMESPACE POD_IP NODE_NAME HOST_IP GOMAXPROCS`),
    ...serviceLinks('KUBERNETES', 443),
    ...serviceLinks('SMTP', 25),
    ...serviceLinks('DATABASE', 5432),
    ...serviceLinks('REDIS', 6379),
    ...serviceLinks('CONSOLE', 80),
    ...serviceLinks('WEBHOOK', 80),
    ...serviceLinks('BAILIWICK', 80),
  },
  postgres:
    set(`PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGPASSFILE PGDATABASE PGDATA PGSSLMODE PGSSLROOTCERT PGAPPNAME
    PGOPTIONS PGSERVICE PGCONNECT_TIMEOUT POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB POSTGRES_HOST POSTGRES_URL`),
  others:
    set(`REDIS_HOST REDIS_PASSWORD REDIS_DB REDIS_TLS_URL REDISCLI_AUTH RABBITMQ_URL MONGO_URL MYSQL_HOST ELASTIC_URL
    AMQP_URL FTP_URL SFTP_URL HTTP_URL RADIUS_URL PUBLISH_URL APP_PATH API_PATH NODE_DEV MAILGUN_API_KEY SENDGRID_API_KEY SENTRY_DSN SENTRY_ENVIRONMENT NEW_RELIC_LICENSE_KEY DD_AGENT_HOST DD_ENV
    OTEL_SERVICE_VERSION OTEL_RESOURCE_ATTRIBUTES OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_PROTOCOL OTEL_PROPAGATORS
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_METRICS_EXPORTER OTEL_TRACES_EXPORTER
    OTEL_LOG_LEVEL API_URL API_KEY BASE_URL SITE_URL APP_ENV APP_URL SECRET_KEY_BASE AUTH_URL AUTH_SECRET`),
  clouds:
    set(`AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ROLE_ARN AWS_CONTAINER_CREDENTIALS_FULL_URI
    AWS_EXECUTION_ENV ECS_CONTAINER_METADATA_URI ECS_CONTAINER_METADATA_URI_V4 GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT
    K_SERVICE K_REVISION K_CONFIGURATION AZURE_CLIENT_ID IDENTITY_ENDPOINT IDENTITY_HEADER WEBSITE_HOSTNAME WEBSITE_SITE_NAME
    DYNO HEROKU_APP_NAME FLY_APP_NAME FLY_REGION PRIMARY_REGION RENDER_SERVICE_ID RENDER_EXTERNAL_URL RAILWAY_ENVIRONMENT
    VERCEL_URL PORT_RANGE`),
  ci: set(`GITHUB_ACTIONS GITHUB_SHA GITHUB_TOKEN GITHUB_WORKSPACE GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT RUNNER_OS RUNNER_TEMP
    RUNNER_TOOL_CACHE GITLAB_CI CI_COMMIT_SHA CI_JOB_ID CI_PIPELINE_ID CI_REGISTRY JENKINS_URL BUILD_NUMBER BUILD_URL JOB_NAME
    CIRCLECI TRAVIS TEST_DATABASE_URL TEST_LOG_LEVEL`),
  windows:
    set(`ALLUSERSPROFILE APPDATA LOCALAPPDATA COMPUTERNAME ComSpec HOMEDRIVE HOMEPATH LOGONSERVER NUMBER_OF_PROCESSORS OS Path
    PATHEXT PROCESSOR_ARCHITECTURE ProgramData ProgramFiles PSModulePath PUBLIC SESSIONNAME SystemDrive SystemRoot TEMP TMP
    USERDOMAIN USERNAME USERPROFILE windir`),
}
