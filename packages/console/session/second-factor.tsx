import { useQueryClient } from '@tanstack/react-query'
import { FactorForm } from './factor-form.tsx'
import { Gate } from './gate.tsx'
import { type Method, renewSession } from './session.ts'
import { texts } from './texts.ts'

/** The page that asks for the second factor of a sign-in, or of a session that now owes one. */
export function SecondFactor({ methods, onOther }: { methods: Method[]; onOther: () => void }) {
  const client = useQueryClient()
  const { title, other } = texts.factor
  return (
    <FactorForm methods={methods} onDone={() => renewSession(client)} other={{ label: other, go: onOther }}>
      {(about, form) => (
        <Gate title={title} about={about}>
          {form}
        </Gate>
      )}
    </FactorForm>
  )
}
