import { readFileSync } from 'node:fs'
import type { Middleware } from 'koa'
import type { OpenApiDocument } from '../api-description/openapi.ts'
import { type Asset, asset } from './asset.ts'

const swaggerUi = import.meta.resolve('swagger-ui-dist/package.json')
const fromSwaggerUi = (name: string) => asset(`/docs/${name}`, readFileSync(new URL(name, swaggerUi)))

// Swagger UI sets styles by script alone and has its icons as data.
const policy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * `/docs`, what it loads, and `/openapi.json`, as handlers of GET by path. Everything comes from this service: the
 * page works offline and asks nobody else. They are made when the first of them is asked for.
 */
export function docsPages(describe: () => OpenApiDocument): Record<string, Middleware> {
  let made: Record<string, Middleware> | undefined
  const serve =
    (path: string): Middleware =>
    (ctx, next) => {
      made ??= makePages(describe())
      return made[path]?.(ctx, next)
    }
  return Object.fromEntries(paths.map((path) => [path, serve(path)]))
}

const paths = [
  '/docs',
  '/openapi.json',
  '/docs/init.js',
  '/docs/swagger-ui.css',
  '/docs/swagger-ui-bundle.js',
  '/docs/favicon-32x32.png',
]

function makePages(document: OpenApiDocument): Record<string, Middleware> {
  const description = asset('/openapi.json', Buffer.from(JSON.stringify(document)))
  const init = asset('/docs/init.js', readFileSync(new URL('browser/docs.js', import.meta.url)))
  const style = fromSwaggerUi('swagger-ui.css')
  const bundle = fromSwaggerUi('swagger-ui-bundle.js')
  const icon = fromSwaggerUi('favicon-32x32.png')
  // Called .html for its media type alone; its address is /docs.
  const page = asset('/docs.html', Buffer.from(html(style, icon, bundle, init)))
  const parts = [description, init, style, bundle, icon].map((part) => [part.path, part.serve] as const)
  return { '/docs': underPolicy(page.serve), ...Object.fromEntries(parts) }
}

const underPolicy =
  (serve: Middleware): Middleware =>
  (ctx, next) => {
    ctx.set('Content-Security-Policy', policy)
    return serve(ctx, next)
  }

const html = (style: Asset, icon: Asset, bundle: Asset, init: Asset) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Bailiwick API</title>
<link rel="icon" href="${icon.href}">
<link rel="stylesheet" href="${style.href}">
</head>
<body>
<main id="docs"><noscript>This page needs JavaScript. The same as data: <a href="/openapi.json">/openapi.json</a></noscript></main>
<script src="${bundle.href}"></script>
<script src="${init.href}"></script>
</body>
</html>
`
