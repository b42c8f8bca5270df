import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { type Route, route } from '../../request/route.ts'

export const keyRoutes = ({ signer }: Deps): Route[] => [
  route({
    access: 'public',
    method: 'GET',
    path: '/.well-known/jwks.json',
    tag: 'Service',
    summary: 'The keys that verify our tokens (RFC 7517)',
    status: 200,
    answer: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
    cache: 'public, max-age=60',
    handle: async () => signer.jwks() as { keys: Record<string, unknown>[] },
  }),
]
