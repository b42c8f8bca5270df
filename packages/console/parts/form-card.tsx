import type { ReactNode } from 'react'
import type { useSubmit } from '../session/use-submit.ts'
import { Button } from './button.tsx'
import { Card } from './page.tsx'
import { Refused } from './refused.tsx'

/** A card that is a form. When it is `fixed`, it has no button. */
export function FormCard({
  title,
  about,
  save,
  go,
  fixed,
  onChange,
  beside,
  children,
}: {
  title: string
  about?: string
  save: ReturnType<typeof useSubmit>
  go: string
  fixed: boolean
  onChange?: (form: FormData) => void
  /** Below the fields. */
  beside?: ReactNode
  children: ReactNode
}) {
  return (
    <form
      onSubmit={save.onSubmit}
      onInput={({ currentTarget }) => onChange?.(new FormData(currentTarget))}
      noValidate
    >
      <Card
        title={title}
        about={about}
        foot={
          !fixed && (
            <Button type="submit" kind="primary" busy={save.busy}>
              {go}
            </Button>
          )
        }
      >
        <div className="card-body">
          <Refused problem={save.problem}>{children}</Refused>
        </div>
        {beside}
      </Card>
    </form>
  )
}
