# One image for all three commands: node src/entry.cjs api | worker | cli migrate.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No script has to run: what is native among the dependencies comes prebuilt. Optional is what others could use: a compiler.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-update-notifier && npm cache clean --force
COPY src src
COPY workers workers
COPY policies policies
# The committed bundle must be that of these sources, and answer every golden case; nothing is compiled here.
RUN ["node", "--input-type=module", "-e", "\
  const { ensureBundle } = await import('/app/src/policy-toolchain/policies.ts'); \
  const { openAccessEngine } = await import('/app/src/policy-engine/evaluate/engine.ts'); \
  await ensureBundle({ production: true, print: console.log }); \
  console.log('policies', (await openAccessEngine()).revision)"]
# The compiler of policies in Rego that tenants write, at the version of src/policy-toolchain/opa.ts, with its checksum.
RUN ["node", "--input-type=module", "-e", "\
  const { copyFile, rm } = await import('node:fs/promises'); \
  const { resolveOpa } = await import('/app/src/policy-toolchain/opa.ts'); \
  await copyFile(await resolveOpa({ print: console.log }), '/usr/local/bin/opa'); \
  await rm('/app/.cache', { recursive: true })"]

FROM node:24-slim
# Metrics and health have a port of their own, which workers have, too: publish it to nobody but what watches them.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MANAGEMENT_PORT=9464
WORKDIR /app
COPY --from=build /usr/local/bin/opa /usr/local/bin/opa
COPY --from=build /app ./
RUN mkdir -p .cache/compiled && chown node .cache/compiled
USER node
# What a start reads first, read once for all of them. Node keeps it by user, so this runs as the user of the service.
RUN ["node", "-e", "\
  require('node:module').enableCompileCache('/app/.cache/compiled'); \
  Promise.all([import('/app/src/serve.ts'), import('/app/workers/actors.ts')])"]
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --start-interval=1s \
  CMD ["node", "-e", "const { env, exit } = process; require(env.TLS_CERTIFICATE || env.TLS_CERTIFICATE_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: env.MANAGEMENT_PORT || env.PORT, path: '/readyz', rejectUnauthorized: false }, (answer) => exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => exit(1))"]
CMD ["node", "src/entry.cjs", "api"]
