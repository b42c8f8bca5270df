import { isUuid } from '../crypto/uuid.ts'
import { readAsSystem } from '../database/executor/read.ts'
import type { Deps } from '../deps.ts'
import type { SocialProvider } from '../settings/social-providers.ts'
import { connectionUpstream } from './connections/connection-upstream.ts'
import { findConnectionClient } from './connections/store.ts'
import { anyOidc } from './providers/any-oidc.ts'
import { apple } from './providers/apple.ts'
import { gitHub } from './providers/github.ts'
import { google } from './providers/google.ts'
import { microsoft } from './providers/microsoft.ts'
import type { Upstream } from './upstream.ts'

type FindDeps = Pick<Deps, 'config' | 'clock' | 'db' | 'sealer' | 'publicUrl'>

/**
 * An upstream by its id: the UUID of an active connection, or the id of a provider of the installation. Null: unknown, or switched
 * off. The verified domains of its tenant are not asked here: `isAuthority` of a connection is always false.
 */
export async function findUpstream(deps: FindDeps, id: string): Promise<Upstream | null> {
  if (isUuid(id)) return findConnection(deps, id)
  const provider = deps.config.SOCIAL_PROVIDERS.find((one) => one.id === id)
  return provider ? providerUpstream(deps, provider) : null
}

async function findConnection(deps: FindDeps, id: string): Promise<Upstream | null> {
  const connection = await readAsSystem(
    deps.db,
    'a sign-in names a connection before its tenant is known',
    (read) => findConnectionClient(read, id),
  )
  return connection?.status === 'active' ? connectionUpstream(deps, connection) : null
}

function providerUpstream(deps: FindDeps, provider: SocialProvider): Upstream {
  switch (provider.kind) {
    case 'google':
      return google(deps, provider)
    case 'github':
      return gitHub(deps, provider)
    case 'microsoft':
      return microsoft(deps, provider)
    case 'apple':
      return apple(deps, provider)
    case 'oidc':
      return anyOidc(deps, provider)
  }
}
