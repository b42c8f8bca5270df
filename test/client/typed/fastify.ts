import { callerOf, decisionOf, fastifyGuard, fastifySignIn, sessionOf } from '@bailiwick/client/fastify'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

const app = fastify({ logger: true })
app.addHook('onRequest', fastifySignIn(signIn))
app.get('/who', async (request) => sessionOf(request)?.userId)
app.addHook('onRequest', fastifyGuard(guard))
app.addHook(
  'preHandler',
  fastifyGuard(guard, (request) =>
    request.url === '/health'
      ? undefined
      : { action: 'note:list', resource: { type: 'note', id: request.url } },
  ),
)
app.addHook(
  'preHandler',
  fastifyGuard(guard, async (request: FastifyRequest) => ({
    action: 'note:list',
    resource: { type: 'note', id: request.routeOptions.url ?? 'all' },
  })),
)
app.get('/a', { preHandler: fastifyGuard(guard) }, async () => ({ a: 1 }))
app.get<{ Params: { id: string } }>(
  '/b/:id',
  { preHandler: [fastifyGuard(guard)] },
  async (request, reply) => {
    const caller = callerOf(request)
    if (caller?.kind !== 'user') return reply.code(403).send({ error: caller?.kind })
    return { id: request.params.id, acr: caller.acr, obligations: decisionOf(request)?.obligations }
  },
)
app.route<{ Params: { id: string }; Body: { text: string } }>({
  method: 'PUT',
  url: '/c/:id',
  onRequest: fastifyGuard(guard),
  preHandler: fastifyGuard(guard, (request) => ({
    action: 'note:update',
    resource: { type: 'note', id: request.params.id, properties: { length: request.body.text.length } },
  })),
  handler: async (request, reply: FastifyReply) => reply.send({ text: request.body.text }),
})

app.register(async (inner: FastifyInstance) => {
  inner.addHook('onRequest', fastifyGuard(guard))
  inner.get('/d', async (request) => callerOf(request)?.sub)
})
