import { readFileSync } from 'node:fs'
import type { Middleware } from 'koa'
import { type Asset, asset } from '../asset.ts'
import type { OpenApiDocument } from './openapi.ts'

const swaggerUi = import.meta.resolve('swagger-ui-dist/package.json')
const fromSwaggerUi = (name: string) => asset(`/docs/${name}`, readFileSync(new URL(name, swaggerUi)))

// Swagger UI sets styles only by script, and its icons are data URLs.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify inert default"

/**
 * Handlers of GET by path: `/docs`, the files that it loads, and `/openapi.json`. Everything comes from this service, so
 * the page works offline. The contents are built at the first request.
 */
export function docsPages(describe: () => OpenApiDocument): Record<string, Middleware> {
  let pages: Record<string, Middleware> | undefined
  const serve =
    (path: string): Middleware =>
    (ctx, next) => {
      pages ??= makePages(describe())
      return pages[path]?.(ctx, next)
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
  const init = asset('/docs/init.js', readFileSync(new URL('../browser/docs.js', import.meta.url)))
  const style = fromSwaggerUi('swagger-ui.css')
  const bundle = fromSwaggerUi('swagger-ui-bundle.js')
  const icon = fromSwaggerUi('favicon-32x32.png')
  // The extension .html gives the media type; the page is served at /docs.
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
<main id="docs"><noscript>This page needs JavaScript. The same content as JSON: <a href="/openapi.json">/openapi.json</a></noscript></main>
<script src="${bundle.href}"></script>
<script src="${init.href}"></script>
</body>
</html>
`
