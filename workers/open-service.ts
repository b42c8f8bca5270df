import type { Logger } from 'pino'
import type { ApprovalDeps } from '../src/authorization/approvals/open-request.ts'
import type { Deps } from '../src/deps.ts'
import { createMetrics } from '../src/observe/metrics/metrics.ts'
import type { StoredDeps } from '../src/request/change/stored-call.ts'
import type { Route } from '../src/request/route.ts'
import type { Config } from '../src/settings/config.ts'
import { version } from '../src/settings/version.ts'

/** The service inside a worker process: what carries out calls of the API without HTTP. */
export type Service = Deps & StoredDeps & ApprovalDeps & { routes: readonly Route[] }

/** Makes the service of a process from what the API has opened. It loads the API, which is half of a worker's modules. */
export async function serviceOf(deps: Deps): Promise<Service> {
  const { listRoutes } = await import('../src/start/app.ts')
  const { authContextLoader, requesterLoader } = await import('../src/identity/sessions/load-auth-context.ts')
  const routes = listRoutes(deps, { ready: async () => undefined, drain: () => undefined })
  return { ...deps, routes, loadAuthContext: authContextLoader(deps), loadRequester: requesterLoader(deps) }
}

/**
 * Opens the service at its first use, because most worker processes never need it. The pools need DATABASE_API_URL and
 * DATABASE_SYSTEM_URL.
 */
export function lazyService(config: Config, log: Logger, clock: () => number) {
  let opening: Promise<Deps & { close(): Promise<void> }> | undefined
  let made: Promise<Service> | undefined
  const openApi = async () => {
    const { openDeps } = await import('../src/start/open-deps.ts')
    const publicUrl = () => config.PUBLIC_URL ?? ''
    // Its pools have the names of the API's, so its metrics are apart from those of the process.
    return openDeps({ config, log, publicUrl, clock, metrics: createMetrics(version) })
  }
  const open = async () => {
    opening ??= openApi().catch((error) => {
      opening = undefined
      throw error
    })
    return serviceOf(await opening)
  }
  return {
    service(): Promise<Service> {
      made ??= open().catch((error) => {
        made = undefined
        throw error
      })
      return made
    },
    async close(): Promise<void> {
      const opened = await opening?.catch(() => undefined)
      await opened?.close()
    },
  }
}

/** Whether the settings name the databases that carrying out calls needs. */
export const canServe = ({ DATABASE_API_URL: api, DATABASE_SYSTEM_URL: system }: Config): boolean =>
  Boolean(api && system)
