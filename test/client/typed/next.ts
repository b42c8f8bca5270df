import type { Caller } from '@bailiwick/client'
import { nextGuard, nextSignIn } from '@bailiwick/client/next'

/** As Next declares it. */
declare class NextRequest extends Request {
  readonly nextUrl: URL
  readonly cookies: { get(name: string): { value: string } | undefined }
}
declare class NextResponse extends Response {
  static next(init?: { request?: { headers?: Headers } }): NextResponse
}
type Handler = (
  request: NextRequest,
  context: { params: Promise<{ id: string }> },
) => Promise<Response> | Response
const accepts = (...handlers: Handler[]) => handlers

const GET = nextGuard(guard, (request) => Response.json({ path: new URL(request.url).pathname }))
const POST = nextGuard(
  guard,
  async (request: NextRequest, _context, caller, decision) =>
    Response.json({ path: request.nextUrl.pathname, by: caller.sub, obligations: decision?.obligations }),
  (request) => ({ action: 'note:create', resource: { type: 'note', id: request.nextUrl.pathname } }),
)
const DELETE = nextGuard(
  guard,
  async (_request, { params }: { params: Promise<{ id: string }> }, caller: Caller) =>
    new Response((await params).id, { headers: { 'x-by': caller.kind } }),
  async (_request, { params }) => ({
    action: 'note:delete',
    resource: { type: 'note', id: (await params).id },
  }),
)
accepts(GET, POST, DELETE)

const proxy: (request: NextRequest) => Promise<Response> = nextSignIn(signIn, NextResponse)
accepts(proxy)
