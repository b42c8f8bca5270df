import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Middleware } from 'koa'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { pathPrefix } from '../../http/path-prefix.ts'
import { channelsOn } from '../../identity/otp/channels.ts'
import { asset } from '../asset.ts'

const folder = new URL('../../../packages/console/bundle/', import.meta.url)

/** What the page loads, by name of the file. */
interface Index {
  script: string
  style: string
  parts: string[]
}

/** Whether `npm run build` wrote the pages. */
export const isConsoleBuilt = (): boolean => existsSync(new URL('index.json', folder))

interface Bundle {
  index: Index
  files: ReadonlyMap<string, Middleware>
}

const readBundle = (): Bundle => ({
  index: JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')),
  files: new Map(
    readdirSync(folder).map((name) => [
      `/console/assets/${name}`,
      asset(name, readFileSync(new URL(name, folder)), { immutable: true }).serve,
    ]),
  ),
})

// No file of another origin, no inline code, no HTML from text: no text that a person entered can run.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/**
 * The pages of the console: one document for every address, and the files that it loads, whose names contain a hash of
 * their content; 503 while they are not built. A request that is not a GET
 * goes on.
 */
export function consolePages({ publicUrl, config }: Pick<Deps, 'publicUrl' | 'config'>): Middleware {
  let bundle = isConsoleBuilt() ? readBundle() : undefined
  return (ctx, next) => {
    if (!/^\/console(\/|$)/.test(ctx.path) || !['GET', 'HEAD'].includes(ctx.method)) return next()
    if (!bundle && isConsoleBuilt()) bundle = readBundle()
    if (!bundle) {
      ctx.status = 503
      ctx.type = 'text'
      ctx.set('Cache-Control', 'no-store')
      ctx.body = 'The console is not built. Run in the folder of the service: npm run build\n'
      return
    }
    if (ctx.path.startsWith('/console/assets/')) {
      const serve = bundle.files.get(ctx.path)
      if (!serve) throw notFound()
      return serve(ctx, next)
    }
    ctx.set({
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': 'no-store',
    })
    ctx.type = 'html'
    ctx.body = html(publicUrl(), channelsOn(config), bundle.index)
  }
}

function html(issuer: string, factors: readonly string[], { script, style, parts }: Index): string {
  const prefix = pathPrefix(issuer)
  return `<!doctype html>
<html lang="en" data-prefix="${prefix}" data-issuer="${issuer}" data-factors="${factors.join(' ')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Bailiwick</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${prefix}/console/assets/${style}">
${parts.map((part) => `<link rel="modulepreload" href="${prefix}/console/assets/${part}">\n`).join('')}<script type="module" src="${prefix}/console/assets/${script}"></script>
</head>
<body>
<div id="console"><noscript>The console needs JavaScript. The API is described at ${prefix}/docs.</noscript></div>
</body>
</html>
`
}
