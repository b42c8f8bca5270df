import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { compile, install, packedClient, root } from './stranger.ts'

// Strict TypeScript, against the packed declarations and those of the frameworks.

const folder = t.testdir({ 'package.json': '{"type":"module"}' })
const beside = ['koa', '@types/koa', '@koa/router', 'express', '@types/express', 'fastify', '@types/node']
await install(folder, await packedClient(folder), beside)
await cp(join(import.meta.dirname, 'typed'), folder, { recursive: true })

t.test('guards compile in the ordinary use of each framework, and so do calls', async (t) => {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
  t.same(files.sort(), ['calls.ts', 'express.ts', 'fastify.ts', 'koa.ts', 'next.ts', 'surroundings.d.ts'])
  t.equal(await compile(folder, files), '')
})

t.test('the examples of the README compile as they stand', async (t) => {
  const text = await readFile(join(root, 'packages/client/README.md'), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  t.equal(blocks.length, 7)
  const files = await Promise.all(
    blocks.map(async (code, index) => {
      const name = `readme-${index}.ts`
      await writeFile(join(folder, name), code)
      return name
    }),
  )
  for (const framework of ['express', 'fastify', 'koa', 'next'])
    t.ok(
      blocks.some((code) => code.includes(`@bailiwick/client/${framework}'`)),
      framework,
    )
  t.equal(await compile(folder, ['surroundings.d.ts', ...files]), '')
})

t.test('an error about a misspelt operation names it', async (t) => {
  const code = `import { createClient } from '@bailiwick/client'
await createClient({ url: 'x' }).call('GET /tenant/{id}/', { path: { id: 'x' } })
`
  await writeFile(join(folder, 'misspelt.ts'), code)
  const said = await compile(folder, ['misspelt.ts'])
  t.match(said, /misspelt\.ts\(2,39\).*'"GET \/tenant\/\{id\}\/"' is not assignable/)
  t.notMatch(said, /Expected 2 arguments/)
})

t.test('mistakes in an input are errors where they are', async (t) => {
  const mistakes = [
    "call('GET /tenants/{id}/')",
    "call('GET /tenants/{id}/', { path: { tid: 'x' } })",
    "call('POST /tenants/', { body: {} })",
    "callOrStore('POST /tenants/', { body: { name: 'x' } })",
    "call('POST /policies/', { body: { name: 'x', effect: 'allow', actions: ['a:b'], condition: null } })",
    "call('POST /policies/', { body: { name: 'x', effect: 'allow', actions: ['a:b'], conditions: { attribute: 'a.b', operator: 'greater' } } })",
    "call('GET /users/me/', { prefer: 'respond-async' })",
  ]
  const head = `import { createClient } from '@bailiwick/client'
const client = createClient({ url: 'x' })
`
  await writeFile(
    join(folder, 'wrong.ts'),
    `${head}${mistakes.map((call) => `await client.${call}`).join('\n')}\n`,
  )
  const said = await compile(folder, ['wrong.ts'])
  const lines = [...said.matchAll(/^wrong\.ts\((\d+),/gm)].map(([, line]) => Number(line))
  t.same(
    [...new Set(lines)],
    mistakes.map((_, index) => index + 3),
  )
})
