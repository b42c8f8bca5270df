import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { catalogue } from '../../src/observe/metrics/catalogue.ts'
import { createMetrics } from '../../src/observe/metrics/metrics.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const read = (path: string) => readFileSync(join(docs, path), 'utf8')

/** The names that a registry serves: metrics, and the series of histograms. */
async function servedNames(): Promise<Set<string>> {
  const text = await createMetrics('0').scrape()
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  return new Set(
    types.flatMap(([, name = '', kind]) =>
      kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    ),
  )
}

/** The metrics in an expression: every name that is not a function, keyword, label or text. */
function named(expression: string): string[] {
  const bare = expression
    .replace(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
  return [...bare.matchAll(/\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()/gi)]
    .map(([, name = '']) => name)
    .filter((name) => !/^(and|or|unless|bool|offset|by|inf|nan|e\d+)$/i.test(name))
}

// Metrics of Prometheus itself.
const others = new Set(['up'])

/** The rules of alerts.yaml, parsed by indentation, one after the other; the form of the file is simple. */
function alertsOf(text: string): Record<string, string>[] {
  return text
    .split(/^ {6}- /m)
    .slice(1)
    .map((rule) => {
      const fields = [...`        ${rule}`.matchAll(/^ {8}(?: {2})?(\w+): *(\|\n(?: {10}.*\n?)+|.*)$/gm)]
      return Object.fromEntries(
        fields.map(([, key = '', value = '']) => [key, value.replace(/^\|\n/, '').trim()]),
      )
    })
}

t.test('the table of docs/reference/metrics.md is the catalogue', async (t) => {
  const rows = Object.values(catalogue).map(
    ({ name, kind, labels, help }) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  )
  const table = ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n')
  const written = /^\| Metric \|.*(?:\n\|.*)*/m
  if (process.env.UPDATE_METRICS)
    writeFileSync(
      join(docs, 'reference', 'metrics.md'),
      read('reference/metrics.md').replace(written, () => table),
    )
  t.equal(written.exec(read('reference/metrics.md'))?.[0], table, 'UPDATE_METRICS=1 writes it anew')
})

t.test('names end with their unit, and counters with _total', async (t) => {
  for (const { name, kind, help } of Object.values(catalogue)) {
    t.match(name, /^bailiwick_[a-z_]+$/)
    t.equal(name.endsWith('_total'), kind === 'counter', name)
    if (kind === 'histogram') t.ok(name.endsWith('_seconds'), name)
    t.ok(help.length > 10, name)
  }
})

t.test('every alert uses existing metrics, and says what to do', async (t) => {
  const served = await servedNames()
  const alerts = alertsOf(read('operations/alerts.yaml'))
  t.equal(alerts.length, 10)
  for (const { alert = '', expr = '', severity, labels, summary, runbook } of alerts) {
    const names = named(expr)
    t.ok(names.length > 0, `${alert}: ${expr}`)
    for (const name of names) t.ok(served.has(name) || others.has(name), `${alert} names ${name}`)
    t.match(labels ?? severity, /severity: (critical|warning|info)/, alert)
    t.ok(summary && runbook && runbook.length > 40, `${alert} says what to do`)
  }
})

t.test('every panel of the dashboard uses existing metrics, and every metric is used', async (t) => {
  const served = await servedNames()
  const dashboard = JSON.parse(read('operations/grafana-dashboard.json'))
  const panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[] = dashboard.panels
  const shown = panels.filter(({ type }) => type !== 'row')
  t.ok(shown.length > 20)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const used = new Set<string>()
  for (const { title, targets = [] } of shown) {
    t.ok(targets.length > 0, title)
    for (const name of targets.flatMap(({ expr }) => named(expr))) {
      t.ok(served.has(name), `${title} names ${name}`)
      used.add(name.replace(/_(bucket|sum|count)$/, ''))
    }
  }
  const unused = Object.values(catalogue).filter(({ name }) => !used.has(name))
  t.same(
    unused.map(({ name }) => name),
    [],
  )
})

t.test('the check finds an unknown metric in an expression', async (t) => {
  t.same(named('max by (queue) (bailiwick_nonesuch{queue="x"}[5m]) > 60 or absent(up)'), [
    'bailiwick_nonesuch',
    'up',
  ])
})

t.test('the Prometheus sample scrapes the port that the image exposes', async (t) => {
  const image = readFileSync(join(docs, '..', 'Dockerfile'), 'utf8')
  const [, port = 'none'] = /MANAGEMENT_PORT=(\d+)/.exec(image) ?? []
  t.match(read('operations/prometheus.yaml'), `port: ${port}`)
  t.match(image, new RegExp(`^EXPOSE .*\\b${port}\\b`, 'm'))
})
