import { type Caller, createClient, createGuard, tokenVerifier } from '@bailiwick/client'
import { expressGuard, expressSignIn } from '@bailiwick/client/express'
import type { Session } from '@bailiwick/client/sign-in'
import express, { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express'

const local = createGuard({
  client: createClient({ url }),
  verify: tokenVerifier({ url, issuer }),
  obligations: ['watermark'],
  onRefusal: ({ status, code, decision_id, reasons }, { caller, cause }) =>
    console.warn(status, code, decision_id, reasons?.[0]?.message, caller?.sub, cause),
})

const app = express()
app.use(expressSignIn(signIn))
app.get('/who', (_req, res) => {
  const session: Session | null = res.locals.session
  res.json(session?.claims.sub)
})
app.use(expressGuard(local))
app.use(
  '/notes',
  expressGuard(local, (req) => ({ action: 'note:list', resource: { type: 'note', id: req.path } })),
)
app.get('/a', expressGuard(guard), (_req, res) => {
  res.json({ a: 1 })
})
app.get('/b/:id', expressGuard(guard), (req, res) => {
  const name: string = req.params.id
  res.status(201).send(Buffer.from(name))
})
app.get(
  '/c/:id',
  expressGuard(guard),
  async (req: Request<{ id: string }>, res: Response<{ id: string }>) => {
    res.json({ id: req.params.id })
  },
)
app.post('/d', express.json(), expressGuard(guard), (req: Request, res: Response, next: NextFunction) => {
  const caller: Caller = res.locals.caller
  if (caller.kind === 'service_account') return next(new Error(`${caller.name} writes no notes`))
  res.json({ by: caller.email, text: req.body.text })
})
app.put(
  '/e/:id',
  expressGuard(guard, (req: Request<{ id: string }>, res: Response) => {
    const { tenant_id }: Caller = res.locals.caller
    return { action: 'note:update', resource: { type: 'note', id: `${tenant_id}/${req.params.id}` } }
  }),
  (_req, res) => {
    res.json(res.locals.decision.obligations)
  },
)

const guarded: RequestHandler = expressGuard(guard)
const router = Router()
router.use(guarded)
router.delete('/f/:id', guarded, (req, res) => {
  res.json({ deleted: req.params.id })
})
app.use(router)
