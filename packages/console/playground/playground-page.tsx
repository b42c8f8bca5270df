import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Badge, Button } from '../parts/button.tsx'
import { useFilters } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { Failed, Fault, Ghosts, Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Refusal } from '../parts/refused.tsx'
import { say } from '../parts/toasts.tsx'
import { bodyOf, documentIn, documentOf, isBegun, newDocument, textOf } from '../policies/document.ts'
import { useDraft } from '../policies/drafts.ts'
import { Examples } from '../policies/examples.tsx'
import { keepTest } from '../policies/kept-tests.ts'
import { PolicyEditor } from '../policies/policy-editor.tsx'
import { Preview } from '../policies/preview.tsx'
import { usePolicy } from '../policies/queries.ts'
import { remarksOf, useRested } from '../policies/remarks.ts'
import { useMay, useProfile } from '../session/session.ts'
import { Answer } from './answer.tsx'
import { emptyQuestion, inputOf, isProperties, type Question } from './question.ts'
import { QuestionFields } from './question-fields.tsx'
import { packed, type Shared, unpacked } from './share.ts'
import { texts } from './texts.ts'

/** A draft beside a question, the answer to it, and the recorded decisions that would change. */
export function PlaygroundPage() {
  const [{ policy: asked }] = useFilters()
  const [shared, setShared] = useState<Shared | null | 'reading'>(location.hash ? 'reading' : null)
  const [isBad, setBad] = useState(false)
  useEffect(() => {
    const read = async () => {
      if (!location.hash) return
      const found = await unpacked(location.hash)
      setBad(found === null)
      setShared(found)
    }
    void read()
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const id = (shared !== 'reading' && shared?.policy) || asked || null
  const query = usePolicy(id)
  if (shared === 'reading' || (id && query.isPending)) return <Shell body={<Ghosts rows={8} />} />
  if (id && query.isError)
    return <Shell body={<Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />} />
  const policy = id && query.data ? query.data : null
  const stored = textOf(policy ? documentOf(policy.body) : newDocument)
  return (
    <Bench
      key={`${id} ${shared?.text}`}
      id={id}
      name={policy?.body.name ?? null}
      etag={policy?.etag ?? null}
      stored={stored}
      shared={shared}
      isBad={isBad}
    />
  )
}

const Shell = ({ body }: { body: React.ReactNode }) => (
  <Page title={texts.title} about={texts.about}>
    <Card>{body}</Card>
  </Page>
)

function Bench({
  id,
  name,
  etag,
  stored,
  shared,
  isBad,
}: {
  id: string | null
  name: string | null
  etag: string | null
  stored: string
  shared: Shared | null
  isBad: boolean
}) {
  const may = useMay()
  const navigate = useNavigate()
  const [draft, setDraft] = useDraft(id ?? 'new')
  // What a link carries is tried, and becomes a draft of one's own only when it is kept.
  const [tried, setTried] = useState(shared?.text ?? null)
  const [question, setQuestion] = useState<Question>(shared?.question ?? emptyQuestion)
  const [isPreviewed, setPreviewed] = useState<string | null>(null)
  const text = tried ?? draft?.text ?? stored
  const set = (next: string) => {
    if (tried !== null) setTried(next)
    else setDraft(next === stored ? null : { text: next, etag: draft?.etag ?? etag })
  }
  const share = async () => {
    const fragment = await packed({ text, question, ...(id && { policy: id }) })
    await navigate({ to: '.', hash: fragment, search: (id ? { policy: id } : {}) as never, replace: true })
    await navigator.clipboard.writeText(location.href)
    say(texts.shared)
  }
  const adopt = () => {
    setDraft(text === stored ? null : { text, etag: draft?.etag ?? etag })
    void navigate({ to: '/policies/$id', params: { id: id ?? 'new' } })
  }
  const document = documentIn(text)
  const isNew = document !== null && !isBegun(id, document)
  const mayWrite = may(id ? 'policy:update' : 'policy:create')
  return (
    <Page
      width="wide"
      title={texts.title}
      about={name === null ? texts.basedOnNone : texts.based(name)}
      actions={
        <>
          <Button icon="copy" onClick={() => void share()}>
            {texts.share}
          </Button>
          {mayWrite ? (
            <Button kind="primary" onClick={adopt}>
              {id ? texts.open : texts.save}
            </Button>
          ) : (
            id && (
              <Link className="button" to="/policies/$id" params={{ id }}>
                {texts.open}
              </Link>
            )
          )}
        </>
      }
    >
      {isBad && (
        <Notice tone="warn">
          <p>{texts.badLink}</p>
        </Notice>
      )}
      <div className="bench">
        <div className="stack">
          {isNew && <Examples onChoose={(example) => set(textOf(example))} />}
          <PolicyEditor id={id} text={text} onChange={set} />
          {isPreviewed === text && document ? (
            <Preview key={text} id={id} document={document} />
          ) : (
            <Card
              title={texts.flips}
              about={texts.flipsAbout}
              actions={
                <Button icon="history" disabled={!document || isNew} onClick={() => setPreviewed(text)}>
                  {texts.flipsGo}
                </Button>
              }
            />
          )}
        </div>
        <Asking id={id} text={text} question={question} setQuestion={setQuestion} />
      </div>
    </Page>
  )
}

/** The question and its answer, which follows while the keyboard rests. */
function Asking({
  id,
  text,
  question,
  setQuestion,
}: {
  id: string | null
  text: string
  question: Question
  setQuestion: (question: Question) => void
}) {
  const { id: me, current_tenant: here } = useProfile()
  const rested = useRested(JSON.stringify([text, inputOf(question)]), 600)
  const [restedText, input] = JSON.parse(rested)
  const draft = documentIn(restedText)
  const document = documentIn(text)
  const isSound = isProperties(question.properties) && isProperties(question.attributes)
  const query = useQuery({
    queryKey: ['asked', id, rested],
    queryFn: ({ signal }) => {
      const body = { ...input, draft: bodyOf(draft ?? {}) }
      return id
        ? call('POST /policies/{id}/test/', { path: { id }, body, signal })
        : call('POST /policies/test-draft/', { body, signal })
    },
    enabled: isBegun(id, draft) && isSound,
    placeholderData: (before) => before,
    staleTime: 60_000,
  })
  const problem = query.error ? asProblem(query.error) : null
  const ofDraft = problem !== null && remarksOf(problem).length > 0
  const keep = () => {
    const effect = query.data?.effect
    if (!effect) return
    keepTest({ user: me, tenant: here.id, policy: id ?? 'new' }, { question, expect: effect })
    say(texts.kept)
  }
  return (
    <div className="stack">
      <Card title={texts.questionTitle} about={texts.questionAbout}>
        <div className="card-body">
          <Refusal value={{ problem }}>
            <QuestionFields question={question} onChange={setQuestion} />
          </Refusal>
        </div>
      </Card>
      <Card
        title={texts.answerTitle}
        actions={
          query.data &&
          !problem && (
            <Button kind="quiet" icon="plus" onClick={keep}>
              {texts.keep}
            </Button>
          )
        }
      >
        <div className="card-body" data-stale={query.isFetching || undefined}>
          {ofDraft || !document ? (
            <p className="muted">
              <Badge tone="danger">
                <Icon name="alert" size={12} />
                {texts.draftFaulty}
              </Badge>
            </p>
          ) : problem ? (
            <Fault problem={problem} />
          ) : query.data ? (
            <Answer answer={query.data} />
          ) : (
            <p className="muted">{query.isFetching ? texts.asking : texts.noAnswer}</p>
          )}
        </div>
      </Card>
    </div>
  )
}
