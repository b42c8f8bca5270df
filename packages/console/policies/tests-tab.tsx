import type { Policy, PolicyTestAnswer } from '@bailiwick/client'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { writeJson } from '../editor/write-json.ts'
import { Badge, Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { Table } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Empty, Fault } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { emptyQuestion } from '../playground/question.ts'
import { useProfile } from '../session/session.ts'
import { EffectBadge } from './badges.tsx'
import { bodyOf, documentIn } from './document.ts'
import { useDraft } from './drafts.ts'
import { casesOf, type KeptTest, newTest, readTests, writeTests } from './kept-tests.ts'
import { Paste, TestDialog } from './test-dialogs.tsx'
import { texts } from './texts.ts'

const { tests: words } = texts
type Results = ReadonlyMap<string, PolicyTestAnswer['cases'][number]>

/** Questions with expected answers, as a table that can be run. */
export function TestsTab({ policy }: { policy: Policy }) {
  const { id } = policy
  const { id: user, current_tenant: here } = useProfile()
  const owner = { user, tenant: here.id, policy: id }
  const [tests, setTests] = useState(() => readTests(owner))
  const [draft] = useDraft(id)
  const [edited, setEdited] = useState<KeptTest | null>(null)
  const [isPasting, setPasting] = useState(false)
  const document = draft ? documentIn(draft.text) : null
  const run = useMutation({
    mutationFn: async (): Promise<Results> => {
      const draftBody = document ? { draft: bodyOf(document) as never } : {}
      const body = { cases: casesOf(tests) as never, ...draftBody }
      const { cases } = await call('POST /policies/{id}/test/', { path: { id }, body })
      return new Map(tests.map(({ key }, index) => [key, cases[index]!]))
    },
  })
  const change = (next: KeptTest[]) => {
    setTests(next)
    writeTests(owner, next)
    run.reset()
  }
  const put = (test: KeptTest) =>
    change(
      tests.some(({ key }) => key === test.key)
        ? tests.map((one) => (one.key === test.key ? test : one))
        : [...tests, test],
    )
  const add = (
    <Button icon="plus" onClick={() => setEdited(newTest({ question: emptyQuestion, expect: 'deny' }))}>
      {words.add}
    </Button>
  )
  const paste = <Button onClick={() => setPasting(true)}>{words.paste}</Button>
  return (
    <Card
      title={texts.page.tabs.tests}
      about={words.about}
      actions={
        tests.length > 0 && (
          <>
            {add}
            <Button kind="primary" icon="play" busy={run.isPending} onClick={() => run.mutate()}>
              {words.run}
            </Button>
          </>
        )
      }
      foot={
        tests.length > 0 && (
          <>
            <Summary results={run.data} isDraft={document !== null} />
            <div className="line">
              {paste}
              <CopyButton text={writeJson({ cases: casesOf(tests) })} label={words.copy} />
            </div>
          </>
        )
      }
    >
      {run.error && (
        <div className="card-body">
          <Fault problem={asProblem(run.error)} />
        </div>
      )}
      {tests.length === 0 ? (
        <Empty
          icon="check"
          title={words.empty}
          action={
            <>
              {add}
              {paste}
            </>
          }
        >
          {words.emptyAbout}
        </Empty>
      ) : (
        <Table columns={words.columns}>
          {tests.map((test) => (
            <Row
              key={test.key}
              test={test}
              results={run.data}
              onEdit={() => setEdited(test)}
              onRemove={() => change(tests.filter(({ key }) => key !== test.key))}
            />
          ))}
        </Table>
      )}
      {edited && <TestDialog test={edited} onClose={() => setEdited(null)} onSave={put} />}
      {isPasting && (
        <Paste onClose={() => setPasting(false)} onAdd={(added) => change([...tests, ...added])} />
      )}
    </Card>
  )
}

function Row({
  test,
  results,
  onEdit,
  onRemove,
}: {
  test: KeptTest
  results: Results | undefined
  onEdit: () => void
  onRemove: () => void
}) {
  const { key, name, question, expect } = test
  const result = results?.get(key)
  return (
    <tr>
      <td>
        <button type="button" className="row-button" onClick={onEdit}>
          <bdi>{name || question.action || words.firstAction}</bdi>
        </button>
      </td>
      <td className="muted">
        <bdi>{question.roles || question.person || words.you}</bdi>
      </td>
      <td>
        <code>{question.action}</code>
      </td>
      <td className="muted">
        <bdi>{[question.type, question.id].filter(Boolean).join(' ')}</bdi>
      </td>
      <td>
        <EffectBadge effect={expect} />
      </td>
      <td>
        <Result result={result} />
      </td>
      <td className="end">
        <Menu trigger={<Button kind="quiet" icon="dots" aria-label={words.menu(name)} />}>
          <MenuItem icon="key" onClick={onEdit}>
            {words.edit}
          </MenuItem>
          <MenuItem icon="trash" danger onClick={onRemove}>
            {words.remove}
          </MenuItem>
        </Menu>
      </td>
    </tr>
  )
}

function Result({ result }: { result: PolicyTestAnswer['cases'][number] | undefined }): ReactNode {
  if (!result) return <span className="muted">{words.notRun}</span>
  return (
    <Badge tone={result.passed ? 'good' : 'danger'}>
      <Icon name={result.passed ? 'check' : 'close'} size={12} />
      {result.passed ? words.passed : words.failed(texts.effects[result.effect])}
    </Badge>
  )
}

function Summary({ results, isDraft }: { results: Results | undefined; isDraft: boolean }) {
  const all = results ? [...results.values()] : []
  const failed = all.filter(({ passed }) => !passed).length
  return (
    <span role="status">
      {all.length > 0
        ? failed === 0
          ? words.allPassed(all.length)
          : words.someFailed(failed, all.length)
        : isDraft && words.draft}
    </span>
  )
}
