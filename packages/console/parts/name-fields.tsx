import { TextField } from './field.tsx'

/** The name and the description of what a form makes or changes. `maxName` is the longest name, in characters. */
export const NameFields = ({
  words,
  known,
  maxName,
}: {
  words: { name: string; nameHint?: string; description: string }
  known: { name: string; description: string } | null | undefined
  maxName: number
}) => (
  <>
    <TextField
      label={words.name}
      hint={words.nameHint}
      name="name"
      defaultValue={known?.name}
      maxLength={maxName}
      required
      autoFocus
    />
    <TextField
      label={words.description}
      name="description"
      defaultValue={known?.description}
      maxLength={2000}
    />
  </>
)
