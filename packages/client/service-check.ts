import type { Client } from './client.ts'
import type { VerifyToken } from './verify-token.ts'

/** The tokens of the service are not those that the application expects. */
export class WrongService extends Error {
  constructor(faults: string[]) {
    super(`${faults.join(' ')} Give tokenVerifier the issuer and audience of the service.`)
    this.name = 'WrongService'
  }
}

const pauseMs = 1_000

/**
 * Asks the service once whether its tokens are those that `verify` expects. `fault` is null from then on. Before, each
 * use of it begins a check if none runs, at most one a second: so an application that does not await `ready` works, too,
 * once the service has answered.
 */
export function serviceCheck(client: Client, { expects }: VerifyToken) {
  let fault: Error | null = new Error('The guard has not asked the service yet: await guard.ready().')
  let checking: Promise<void> | undefined
  let nextAt = 0

  const check = async () => {
    nextAt = performance.now() + pauseMs
    try {
      const said = await client.call('GET /.well-known/authzen-configuration')
      const faults = (['issuer', 'audience'] as const).flatMap((name) =>
        // A service before 0.3 does not say.
        expects && said[name] !== undefined && said[name] !== expects[name]
          ? [`The service has the ${name} "${said[name]}", and your application expects "${expects[name]}".`]
          : [],
      )
      if (faults.length > 0) throw new WrongService(faults)
      fault = null
    } catch (error) {
      fault = error as Error
      throw error
    } finally {
      checking = undefined
    }
  }
  const ready = async () => {
    if (!fault) return
    checking ??= check()
    await checking
  }
  return {
    ready,
    fault() {
      if (fault && !checking && performance.now() >= nextAt) ready().catch(() => undefined)
      return fault
    },
  }
}
