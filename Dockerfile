# One image for all three commands: node src/start/entry.cjs api | worker | cli migrate.
# Pin both images where you build: docs/how-to/run-in-production.md#the-image.
ARG NODE_IMAGE=node:24-slim
ARG GO_IMAGE=golang:1.26

# The compiler of policies in Rego that tenants write, at the version of src/policy-engine/opa/opa.ts. Go checks the sources
# against its checksum database.
FROM ${GO_IMAGE} AS opa
RUN CGO_ENABLED=0 GOBIN=/usr/local/bin go install github.com/open-policy-agent/opa@v1.22.0

# The pages of the console, with the packages of its workspace alone.
FROM ${NODE_IMAGE} AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages packages
RUN npm ci --workspace=@bailiwick/console --ignore-scripts --no-update-notifier
COPY tools/console tools/console
RUN ["node", "--input-type=module", "-e", "await (await import('/app/tools/console/bundle.ts')).buildConsole()"]

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc LICENSE ./
# No script has to run: what is native among the dependencies comes prebuilt. Optional is what others could use: a compiler.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-update-notifier && npm cache clean --force
COPY src src
COPY workers workers
COPY policies policies
COPY --from=console /app/packages/console/bundle packages/console/bundle
# The committed bundle must be that of these sources, and answer every golden case; nothing is compiled here.
RUN ["node", "--input-type=module", "-e", "\
  const { ensureBundle } = await import('/app/src/policy-engine/opa/policies.ts'); \
  const { openAccessEngine } = await import('/app/src/policy-engine/evaluate/engine.ts'); \
  await ensureBundle({ production: true, print: console.log }); \
  console.log('policies', (await openAccessEngine()).revision)"]

FROM ${NODE_IMAGE}
# Metrics and health have a port of their own, which workers have, too: publish it to nobody but what watches them.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MANAGEMENT_PORT=9464
WORKDIR /app
COPY --from=opa /usr/local/bin/opa /usr/local/bin/opa
COPY --from=build /app ./
RUN mkdir -p .cache/compiled && chown node .cache/compiled
USER node
# What a start reads first, read once for all of them. Node keeps it by user, so this runs as the user of the service.
RUN ["node", "-e", "\
  require('node:module').enableCompileCache({ directory: '/app/.cache/compiled', portable: true }); \
  Promise.all([import('/app/src/start/serve.ts'), import('/app/workers/actors.ts')])"]
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --start-interval=1s \
  CMD ["node", "-e", "const { env, exit } = process; require(env.TLS_CERTIFICATE || env.TLS_CERTIFICATE_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: env.MANAGEMENT_PORT || env.PORT, path: '/readyz', rejectUnauthorized: false }, (answer) => exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => exit(1))"]
CMD ["node", "src/start/entry.cjs", "api"]
