import { FormDialog } from './dialog.tsx'

/** Asks whether to remove something, and does it. */
export const Removal = ({
  texts: { removing, remove: go },
  name,
  remove,
  onClose,
}: {
  texts: { removing: { title: (name: string) => string; about: string }; remove: string }
  name: string
  remove: () => Promise<unknown>
  onClose: () => void
}) => (
  <FormDialog
    open
    danger
    {...{ onClose, go }}
    title={removing.title(name)}
    about={removing.about}
    submit={remove}
  />
)
